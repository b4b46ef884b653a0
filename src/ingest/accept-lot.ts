import { AppError } from '../domain/errors.ts';
import type { ProjectId } from '../domain/ids.ts';
import type { Lot, LotAnswer, LotMessage } from './lot.ts';
import { isLarge, type PreparedEvent } from './prepare-event.ts';
import { STALE } from './store-events.ts';
import type { LotResult, PreparedLot } from './store-lots.ts';
import type { WaitingRoom } from './waiting-room.ts';

/** Without a message that is done. */
const MAX_ROUNDS = 20;

export interface LotIntake {
  room: WaitingRoom;
  /** Until ids can be given. */
  ready(): Promise<void>;
  prepare(message: LotMessage): Promise<PreparedEvent>;
  refresh(projectId: ProjectId): Promise<unknown>;
  /** Waits for a place in a batch, and stores it. */
  store(lot: PreparedLot): Promise<LotResult | Error>;
}

/** Matches the messages of a lot and stores them; those whose project's config moves on are matched again. */
export async function acceptLot(intake: LotIntake, lot: Lot): Promise<LotAnswer> {
  const { projectId, messages } = lot;
  const bytes = messages.reduce((sum, { event }) => sum + event.payload.length, 0);
  const visitor = { projectId, bytes, events: messages.length };
  const overloaded = () => new AppError('overloaded', { retry: 1 });
  const answer: LotAnswer = { done: 0, stored: 0, repeats: 0, error: null };
  if (!intake.room.enter(visitor)) return { ...answer, error: overloaded() };
  try {
    for (let rounds = 0; answer.done < messages.length; ) {
      if (rounds === MAX_ROUNDS) return { ...answer, error: overloaded() };
      const { error, ...result } = await tryLot(intake, { ...lot, messages: messages.slice(answer.done) });
      rounds = result.done > 0 ? 0 : rounds + 1;
      answer.done += result.done;
      answer.stored += result.stored;
      answer.repeats += result.repeats;
      if (error === STALE) await intake.refresh(projectId);
      else if (error !== null) return { ...answer, error };
    }
    return answer;
  } catch (error) {
    return { ...answer, error: error as Error };
  } finally {
    intake.room.leave(visitor);
  }
}

/** The first messages, up to those that would make it large. A large message goes alone. */
async function tryLot(intake: LotIntake, lot: Lot): Promise<LotResult> {
  await intake.ready();
  const items: PreparedEvent[] = [];
  let ordered = 0;
  for (const message of lot.messages) {
    const item = await intake.prepare(message);
    ordered += item.ordered;
    if (isLarge(ordered) && items.length > 0) break;
    items.push(item);
  }
  const result = await intake.store({
    lot: { ...lot, messages: lot.messages.slice(0, items.length) },
    items,
  });
  return result instanceof Error ? { done: 0, stored: 0, repeats: 0, error: result } : result;
}
