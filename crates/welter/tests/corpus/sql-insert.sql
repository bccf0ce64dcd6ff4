INSERT INTO `edges` VALUES (1,2),(2,3);
INSERT INTO `edges` VALUES (3,4),(4,1);
