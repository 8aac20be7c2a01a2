//! The program as people and scripts use it: started as a process, against the strict server.

mod attach;
mod demo;
mod look;
mod program;
mod run;
mod terminal;
