road(rome, paris, 1400).
road(paris, bonn, 500).
