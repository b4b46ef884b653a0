import { CONVOY_STRATEGY, Strategy } from '../../domain/config/project-config.ts';
import { describeSchedule, scheduleProblem, stepsWithin } from '../../domain/config/retry-schedule.ts';
import { invalid } from '../../domain/errors.ts';
import { updated } from '../http/updated.ts';

/**
 * The retries of a project. A list replaces the other fields, which then describe it. Other values than those replace the
 * list. Clients that do not know it send these back unchanged, and it stays.
 */
export function mergeStrategy(base: Strategy, given: Partial<Strategy>, retentionMs: number): Strategy {
  const { schedule = [] } = given;
  if (schedule.length === 0) {
    const after = updated(base, Strategy, given);
    return isChanged(base, after) ? { ...after, schedule: [] } : within(after, retentionMs);
  }
  // A stored list was checked under the retention of then. To send it back must not fail.
  const isNew = JSON.stringify(schedule) !== JSON.stringify(base.schedule);
  const problem = scheduleProblem('config.strategy.schedule', schedule, retentionMs);
  if (isNew && problem !== undefined) throw invalid(...problem);
  const { retries, ...shown } = describeSchedule(schedule);
  return { ...shown, retry_count: retries + 1, schedule };
}

/** The defaults under the config of a new project: one that names a part of Convoy's strategy gets the rest of it too. */
export function baseOf<Config extends { strategy: Strategy }>(
  defaults: Config,
  { strategy = {} }: { strategy?: Partial<Strategy> },
): Config {
  return Object.keys(strategy).length === 0 ? defaults : { ...defaults, strategy: CONVOY_STRATEGY };
}

/** A list that ends within a retention that may be shorter now. */
function within(strategy: Strategy, retentionMs: number): Strategy {
  const schedule = stepsWithin(strategy.schedule, retentionMs);
  if (schedule.length === 0 || schedule.length === strategy.schedule.length) return strategy;
  const { retries, ...shown } = describeSchedule(schedule);
  return { ...shown, retry_count: retries + 1, schedule };
}

const isChanged = (before: Strategy, after: Strategy): boolean =>
  (['type', 'duration', 'retry_count'] as const).some((name) => before[name] !== after[name]);
