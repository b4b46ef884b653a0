import { randomInt } from 'node:crypto';
import type { Attempt } from './attempt.ts';
import {
  commonTemplate,
  haveOneShape,
  type Slot,
  slotsOf,
  type Template,
  valuesFor,
} from './attempt-slots.ts';
import { type PackedAttempt, packed } from './packed-attempt.ts';

/**
 * Attempts at one endpoint differ in a few values: an id, a time, a signature. So the rest is stored once, as a
 * template, and an attempt has only its own values: 135 bytes where its headers alone were 600. A node learns a template
 * from attempts that follow each other, and leaves open what differs. Each commit brings the templates that its attempts
 * use. So no attempt is without its template, whatever became of an earlier commit or of the database.
 *
 * All is bounded: endpoints and templates in memory, the size of a template, the templates that an endpoint may cause in
 * a day. Past a bound an attempt is stored whole.
 */
const ENDPOINTS = 2_048;
const TEMPLATES = 4;
const TEMPLATES_A_DAY = 16;
const TEMPLATE_CHARS = 2_048;
/** An endpoint with fewer attempts in a day does not pay for a template. */
const LEARN_FROM = 4;
/** Templates are kept two days longer than their attempts (expired-templates.ts), and not used for longer than one. */
const USED_FOR_MS = 86_400_000;

export interface StoredTemplate {
  id: number;
  projectId: string;
  text: string;
}

interface Learned extends StoredTemplate {
  template: Template;
  misses: number[];
}

interface Endpoint {
  sinceMs: number;
  attempts: number;
  learned: number;
  last: readonly Slot[] | undefined;
  templates: Learned[];
}

export class AttemptTemplates {
  readonly #elapsedMs: () => number;
  /** The least recently used first. */
  readonly #endpoints = new Map<string, Endpoint>();

  constructor(elapsedMs: () => number = () => performance.now()) {
    this.#elapsedMs = elapsedMs;
  }

  /** The attempt as it is stored, and the template that must be stored with it. */
  pack(
    of: { projectId: string; endpointId: string; deliveryId: string },
    attempt: Attempt,
  ): { packed: PackedAttempt; template: StoredTemplate | null } {
    const slots = slotsOf(attempt);
    const endpoint = this.#endpoint(of.endpointId);
    for (const known of endpoint.templates) {
      const values = valuesFor(known.template, slots);
      if (values !== undefined) return packedBy(known, values, { attempt, deliveryId: of.deliveryId });
    }
    const learned = learn(endpoint, slots, of.projectId);
    if (learned === undefined) return { packed: packed(attempt, slots, null), template: null };
    const values = valuesFor(learned.template, slots) as Slot[];
    return packedBy(learned, values, { attempt, deliveryId: of.deliveryId });
  }

  #endpoint(id: string): Endpoint {
    const nowMs = this.#elapsedMs();
    const known = this.#endpoints.get(id);
    this.#endpoints.delete(id);
    const endpoint =
      known !== undefined && nowMs - known.sinceMs < USED_FOR_MS
        ? known
        : { sinceMs: nowMs, attempts: 0, learned: 0, last: undefined, templates: [] };
    this.#endpoints.set(id, endpoint);
    if (this.#endpoints.size > ENDPOINTS)
      for (const oldest of this.#endpoints.keys()) {
        this.#endpoints.delete(oldest);
        break;
      }
    return endpoint;
  }
}

function packedBy(
  template: Learned,
  values: readonly Slot[],
  { attempt, deliveryId }: { attempt: Attempt; deliveryId: string },
): { packed: PackedAttempt; template: StoredTemplate } {
  const { id, misses } = template;
  return { packed: packed(attempt, values, { id, misses, deliveryId }), template };
}

/** From the template that came closest, or from the last attempt. Undefined: there is too little to learn from. */
function learn(endpoint: Endpoint, slots: readonly Slot[], projectId: string): Learned | undefined {
  const { last } = endpoint;
  const size = slots.reduce<number>((chars, slot) => chars + charsOf(slot), 0);
  endpoint.attempts += 1;
  endpoint.last = size <= TEMPLATE_CHARS ? slots : undefined;
  if (endpoint.last === undefined || endpoint.attempts < LEARN_FROM || endpoint.learned >= TEMPLATES_A_DAY)
    return undefined;
  const near = endpoint.templates.find(({ template }) => haveOneShape(template, slots));
  const base = near?.template ?? last;
  if (base === undefined || !haveOneShape(base, slots)) return undefined;
  const template = commonTemplate(base, slots);
  const learned = { id: newTemplateId(), projectId, template, text: JSON.stringify(template), misses: [] };
  const others = endpoint.templates.filter((one) => one !== near);
  endpoint.templates = [learned, ...others].slice(0, TEMPLATES);
  endpoint.learned += 1;
  return learned;
}

const charsOf = (slot: Slot): number =>
  typeof slot === 'string' ? slot.length : Array.isArray(slot) ? slot.join('').length : 1;

/**
 * 53 random bits, as many as a number has: nodes need no agreement. Two of a million templates of a project have one id
 * with a chance of 1 in 18,000.
 */
const newTemplateId = () => randomInt(1, 2 ** 21) * 2 ** 32 + randomInt(2 ** 32);
