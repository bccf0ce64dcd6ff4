main.o: main.c a.h \
 b.h
a.o: a.c a.h
