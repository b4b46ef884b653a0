import { type AuditNote, changeOf } from '../domain/audit.ts';
import { found, invalid } from '../domain/errors.ts';
import {
  deprecateEventType as deprecateRow,
  eventTypesForUpdate,
  importEventTypes as importRows,
  insertEventType,
  updateEventType as updateRow,
} from '../store/changes/event-type-writes.ts';
import type { EventTypeDescription, EventTypeRow } from '../store/config/event-types.ts';
import type { Queryable } from '../store/database/database.ts';
import { isUniqueViolation } from '../store/database/pg-errors.ts';
import type { Author, ConfigChanges } from './config-changes.ts';

// Nodes have the schemas of a project in memory that has its payloads checked, so a change is one of the config.

export async function createEventType(
  changes: ConfigChanges,
  by: Author,
  type: EventTypeDescription,
): Promise<EventTypeRow> {
  const id = changes.deps.ids.next();
  try {
    return await changes.change(by, async (tx) => {
      const saved = await insertEventType(tx, by.projectId, { id, ...type });
      return { result: saved, audit: [changeOf('event_type.created', null, saved)] };
    });
  } catch (error) {
    if (isUniqueViolation(error)) throw invalid('name', 'an event type with this name exists');
    throw error;
  }
}

/** `make` gives the type as it is to be. */
export function updateEventType(
  changes: ConfigChanges,
  one: Author & { id: string },
  make: (row: EventTypeRow) => EventTypeRow,
): Promise<EventTypeRow> {
  return changeEventType(changes, one, 'event_type.updated', (tx, known) => updateRow(tx, make(known)));
}

export function deprecateEventType(
  changes: ConfigChanges,
  one: Author & { id: string },
): Promise<EventTypeRow> {
  return changeEventType(changes, one, 'event_type.deprecated', (tx) =>
    deprecateRow(tx, one.projectId, one.id),
  );
}

function changeEventType(
  changes: ConfigChanges,
  { id, ...by }: Author & { id: string },
  action: AuditNote['action'],
  save: (tx: Queryable, known: EventTypeRow) => Promise<EventTypeRow | undefined>,
): Promise<EventTypeRow> {
  return changes.change(by, async (tx) => {
    const [row] = await eventTypesForUpdate(tx, by.projectId, { ids: [id] });
    const known = found(row, 'event type', id);
    const saved = found(await save(tx, known), 'event type', id);
    return { result: saved, audit: [changeOf(action, known, saved)] };
  });
}

/** Creates types, or describes those that there are. */
export function importEventTypes(
  changes: ConfigChanges,
  by: Author,
  types: readonly EventTypeDescription[],
): Promise<EventTypeRow[]> {
  const wanted = types.map((type) => ({ id: changes.deps.ids.next(), ...type }));
  return changes.change(by, async (tx) => {
    const names = types.map(({ name }) => name);
    const known = await eventTypesForUpdate(tx, by.projectId, { names });
    const result = await importRows(tx, by.projectId, wanted);
    return { result, audit: result.map((row) => importNote(known, row)) };
  });
}

function importNote(known: readonly EventTypeRow[], row: EventTypeRow): AuditNote {
  const before = known.find(({ id }) => id === row.id);
  return changeOf(before === undefined ? 'event_type.created' : 'event_type.updated', before, row);
}
