import { invalid } from '../../domain/errors.ts';
import { cutItems } from '../../platform/json/cut-json.ts';

const MAX_EVENTS = 1_000;

/** A list of CloudEvents, each as parsed and as the text that was sent. They are read one by one. */
export class CloudBatch {
  readonly #items: readonly { value: unknown; text: string }[];

  /** `text` is the JSON of `values`. */
  constructor(values: unknown, text: string) {
    if (!Array.isArray(values)) throw invalid('body', 'must be a list of CloudEvents');
    if (values.length > MAX_EVENTS) throw invalid('body', `must have at most ${MAX_EVENTS} CloudEvents`);
    const texts = cutItems(`{"events":${text}}`, 'events');
    this.#items = values.map((value: unknown, n) => ({ value, text: texts[n] ?? '' }));
  }

  get items(): readonly { value: unknown; text: string }[] {
    return this.#items;
  }
}
