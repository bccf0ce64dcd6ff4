graph [
  node [
    id 0
    label "a"
    x NAN
  ]
  node [
    id 1
    label "b"
    x +INF
  ]
  edge [
    source 0
    target 1
    since -INF
  ]
]
