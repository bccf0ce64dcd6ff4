//! Chunks on a machine of a cluster: every program by cells, by update chunks and with what a
//! stealer hands over, for chunks in all their forms; and what is wrong with chunks.

mod answers;
mod cluster;
mod damage;
mod seeds;
