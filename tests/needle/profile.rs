//! The profile of an insertion: loading, puncture, drop, friction that grows, relaxation, withdrawal.

use crate::phantom::Phantom;

#[test]
fn look() {
    let phantom = Phantom::default();
    let mut run = phantom.begin(2e-3);
    for (k, seen) in run.go(-0.06, 0.01).iter().enumerate() {
        if k % 10 == 0 {
            println!("{seen:?}");
        }
    }
    println!("rest");
    for seen in run.rest(0.3).iter().step_by(5) {
        println!("{seen:?}");
    }
    println!("back");
    for (k, seen) in run.go(0.07, 0.01).iter().enumerate() {
        if k % 20 == 0 {
            println!("{seen:?}");
        }
    }
}
