//! Ingest, plan, kernels and the iteration driver of one machine.
