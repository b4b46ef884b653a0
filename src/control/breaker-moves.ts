import { probesToClose } from '../domain/config/circuit-breaker.ts';
import { halfOpenBreakers, type SavedBreaker, saveBreakers } from '../store/changes/breaker-writes.ts';
import { lockBreakers, type Probe } from '../store/limits/breakers.ts';
import type { ConfigChange } from './config-changes.ts';

/** By endpoint. */
export interface BreakerMoves {
  /** `probe`: the one that failed while the breaker was open. */
  open: ReadonlyMap<string, { probe: Probe | null }>;
  close: string[];
}

export interface MovedBreakers {
  opened: SavedBreaker[];
  closed: SavedBreaker[];
}

/** Opens and closes breakers, except those that another node moved meanwhile. */
export async function moveBreakers(
  change: ConfigChange,
  { open, close }: BreakerMoves,
): Promise<MovedBreakers> {
  const locked = await lockBreakers(change, [...open.keys(), ...close]);
  const opened = [...open]
    .filter(([id, { probe }]) => {
      const row = locked.get(id);
      return probe === null ? (row?.state ?? 'closed') === 'closed' : row?.fence === probe.fence;
    })
    .map(([id]) => ({ endpoint_id: id, state: 'open' as const, trips: (locked.get(id)?.trips ?? 0) + 1 }));
  const closed = close
    .filter((id) => locked.get(id)?.state === 'open')
    .map((id) => ({ endpoint_id: id, state: 'closed' as const, trips: 0 }));
  await saveBreakers(change, [...opened, ...closed]);
  return { opened, closed };
}

/**
 * Makes breakers half-open that were open at that time. One success closes them, and a failure opens them again. One that
 * opened later has had its probe.
 */
export async function askForProbes(
  change: ConfigChange,
  asked: { endpointIds: readonly string[]; openedBeforeMs: number },
): Promise<void> {
  const settings = change.config.circuit_breaker;
  await halfOpenBreakers(change, {
    ...asked,
    timeoutSeconds: settings.error_timeout,
    probes: probesToClose(settings) - 1,
  });
}
