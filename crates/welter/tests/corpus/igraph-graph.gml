Creator "igraph version 0.10.4"
Version 1
graph
[
  directed 0
  node
  [
    id 0
    name "a"
  ]
  node
  [
    id 1
    name "b"
  ]
  edge
  [
    source 1
    target 0
    weight 2
  ]
]
