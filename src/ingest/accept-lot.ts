import { AppError } from '../domain/errors.ts';
import type { ProjectId } from '../domain/ids.ts';
import type { Lot, LotAnswer, LotMessage } from './lot.ts';
import { isLarge, type PreparedEvent } from './prepare-event.ts';
import { type EventResult, isFault, type PreparedGroup, REPEAT, STALE } from './store-events.ts';
import type { WaitingRoom } from './waiting-room.ts';

/** Without a message that is done. */
const MAX_ROUNDS = 20;

export interface LotIntake {
  room: WaitingRoom;
  /** Until ids can be given. */
  ready(): Promise<void>;
  /** With a reason it becomes an event that failed. */
  prepare(message: LotMessage, reason?: string): Promise<PreparedEvent>;
  refresh(projectId: ProjectId): Promise<unknown>;
  /** Waits for a place in a batch, and stores it. */
  store(lot: PreparedGroup): Promise<EventResult[]>;
}

const REFUSED = 'The message holds text that cannot be stored.';

/**
 * Matches the messages of a lot and stores them; those whose project's config moves on are matched again. In the place of a
 * message that the database refuses a failed event is stored, alone. As many others may be like it, the next tries are short.
 */
export async function acceptLot(intake: LotIntake, lot: Lot): Promise<LotAnswer> {
  const { projectId, messages } = lot;
  const bytes = messages.reduce((sum, { event }) => sum + event.payload.length, 0);
  const visitor = { projectId, bytes, events: messages.length };
  const overloaded = () => new AppError('overloaded', { retry: 1 });
  const answer: LotAnswer = { done: 0, stored: 0, repeats: 0, error: null };
  if (!intake.room.enter(visitor)) return { ...answer, error: overloaded() };
  try {
    let poisoned = -1;
    let most = Number.POSITIVE_INFINITY;
    for (let rounds = 0; answer.done < messages.length; ) {
      if (rounds === MAX_ROUNDS) return { ...answer, error: overloaded() };
      const { done } = answer;
      const part = { ...lot, messages: messages.slice(done, done + most) };
      const fault = note(answer, await tryLot(intake, part, done === poisoned ? REFUSED : undefined));
      rounds = answer.done > done ? 0 : rounds + 1;
      if (fault === undefined) most *= 2;
      else if (fault === STALE) await intake.refresh(projectId);
      else if (isPoisoned(fault) && poisoned !== answer.done) {
        poisoned = answer.done;
        most = 1;
      } else return { ...answer, error: fault };
    }
    return answer;
  } catch (error) {
    return { ...answer, error: error as Error };
  } finally {
    intake.room.leave(visitor);
  }
}

/** Counts those that are done, and returns why the next is not. */
function note(answer: LotAnswer, results: readonly EventResult[]): Error | typeof STALE | undefined {
  for (const result of results) {
    if (isFault(result)) return result;
    answer.done += 1;
    if (result === REPEAT) answer.repeats += 1;
    else answer.stored += 1;
  }
  return undefined;
}

const isPoisoned = (fault: unknown): boolean =>
  fault instanceof AppError && fault.code === 'validation_failed';

/** The first messages, up to those that would make it large. A large message goes alone. */
async function tryLot(intake: LotIntake, lot: Lot, reason?: string): Promise<EventResult[]> {
  await intake.ready();
  const items: PreparedEvent[] = [];
  let ordered = 0;
  for (const message of lot.messages) {
    const item = await intake.prepare(message, reason);
    ordered += item.ordered;
    if (isLarge(ordered) && items.length > 0) break;
    items.push(item);
  }
  const messages = lot.messages.slice(0, items.length);
  return intake.store({ lot: { ...lot, messages }, items, isAllOrNothing: false });
}
