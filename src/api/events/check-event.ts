import type { FastifyInstance, FastifySchemaValidationError } from 'fastify';
import type { Static, TSchema } from 'typebox';
import { invalid, invalidFields } from '../../domain/errors.ts';
import { isObject } from '../../platform/json/is-object.ts';
import { Type } from '../../platform/type.ts';
import { unknownFieldsOf } from '../http/unknown-fields.ts';
import { dropNulls, fieldsWithZero, problemsOfSchema } from '../http/validation.ts';
import { type EventKind, eventKinds, singleCalls } from './batch-schema.ts';

/** An event of a batch that has the form of its kind. */
export type CheckedEvent = {
  [Kind in EventKind]: { kind: Kind; body: Static<(typeof singleCalls)[Kind]> };
}[EventKind];

type Check = (event: object) => true | { error: FastifySchemaValidationError[] };

/** Checks an event of a batch by the schema of the call that would send it alone. `text` is its JSON. */
export function eventChecker(app: FastifyInstance): (event: unknown, text: string) => CheckedEvent {
  const rules = Object.fromEntries(eventKinds.map((kind) => [kind, rulesOf(app, kind)]));
  return (event, text) => {
    if (!isObject(event)) throw invalid('', 'must be an object');
    const { kind, ...body } = event;
    if (kind === undefined || kind === null) throw invalid('kind', 'is required');
    const rule = typeof kind === 'string' && Object.hasOwn(rules, kind) ? rules[kind] : undefined;
    if (rule === undefined) throw invalid('kind', `must be one of ${eventKinds.join(', ')}`);
    rule(body);
    // A zero character has no other form in JSON.
    const zeros = text.includes('\\u0000') ? fieldsWithZero(body) : [];
    if (zeros.length > 0)
      throw invalidFields(
        zeros.map((field) => ({ field, problem: 'contains a zero character, which cannot be stored' })),
      );
    return { kind, body } as CheckedEvent;
  };
}

function rulesOf(app: FastifyInstance, kind: EventKind): (body: object) => void {
  const schema: TSchema = singleCalls[kind];
  const check = app.validatorCompiler?.({ schema, method: 'POST', url: '' }) as unknown as Check;
  const unknownFields = unknownFieldsOf(schema, Type.Object({}));
  return (body) => {
    dropNulls(schema, body);
    const unknown = unknownFields(body);
    if (unknown.length > 0) throw invalidFields(unknown.map((problem) => ({ field: '', problem })));
    const checked = check(body);
    if (checked !== true) throw invalidFields(problemsOfSchema(checked.error));
  };
}
