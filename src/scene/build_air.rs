//! Checks of a scene with air.
//!
//! Thread: cold.

use super::build::Check;

impl Check<'_> {
    /// Rejects goals and phases on what is not in the scene.
    pub(super) fn asked(&mut self) {
        self.needle_asked();
        self.air_asked();
    }

    /// Rejects goals and phases on suction in a scene without air.
    fn air_asked(&mut self) {
        let spec = self.spec;
        let goals = spec.task.goals.iter().enumerate();
        let goals = goals.filter(|(_, goal)| goal.condition.is_of_air()).map(|(index, _)| format!("goal.{index}"));
        let phases = spec.operator.phases.iter().enumerate();
        let phases = phases.filter(|(_, phase)| phase.until.is_of_air());
        let keys: Vec<String> = goals.chain(phases.map(|(index, _)| format!("phase.{index}.until"))).collect();
        for key in keys.iter().filter(|_| spec.air.is_none()) {
            self.error(
                key,
                "this is about enclosed air, but nothing encloses air",
                "add [air], or ask for something else",
            );
        }
    }
}
