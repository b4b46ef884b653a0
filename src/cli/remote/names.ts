import { type Posthorn, PosthornError } from '../../../client/src/posthorn.ts';
import { isId } from '../../domain/ids.ts';
import { StartupError } from '../../platform/startup-error.ts';
import type { Command, Given, NamedKind } from '../terminal/command.ts';
import { type Candidate, pickOne } from '../terminal/pick-one.ts';
import { withService } from './connect.ts';

/*
 * The resolver of names: users name things where the table of commands asks for an id (`Flag.of`, `Operand.of`), and
 * every command gets ids. Exactly one thing must have the name. A filter by an id that never existed would find nothing
 * and look like an answer, so ids of filters are looked up too. An operand's id is looked up by the command itself.
 */
interface Kind {
  plural: string;
  get(posthorn: Posthorn, id: string): Promise<object>;
  /** A name contains the text. */
  list(posthorn: Posthorn, text?: string): { page(): Promise<{ content: Candidate[] }> };
  /** History of a deleted one, which filters still find. */
  history?(posthorn: Posthorn, id: string): { page(): Promise<{ content: object[] }> };
}

/** The most that the API gives in one page. */
const PAGE = { perPage: 1_000 };
const ONE = { perPage: 1 };

const kinds: Record<NamedKind, Kind> = {
  endpoint: {
    plural: 'endpoints',
    get: ({ endpoints }, id) => endpoints.get(id),
    list: ({ endpoints }, q) => endpoints.list({ ...PAGE, ...(q !== undefined && { q }) }),
    history: ({ eventDeliveries }, id) => eventDeliveries.list({ ...ONE, endpointId: id }),
  },
  subscription: {
    plural: 'subscriptions',
    get: ({ subscriptions }, id) => subscriptions.get(id),
    list: ({ subscriptions }, name) => subscriptions.list({ ...PAGE, ...(name !== undefined && { name }) }),
    history: ({ eventDeliveries }, id) => eventDeliveries.list({ ...ONE, subscriptionId: id }),
  },
  source: {
    plural: 'sources',
    get: ({ sources }, id) => sources.get(id),
    list: ({ sources }, q) => sources.list({ ...PAGE, ...(q !== undefined && { q }) }),
    history: ({ events }, id) => events.list({ ...ONE, sourceId: id }),
  },
  'portal link': {
    plural: 'portal-links',
    get: ({ portalLinks }, id) => portalLinks.get(id),
    list: ({ portalLinks }, q) => portalLinks.list({ ...PAGE, ...(q !== undefined && { q }) }),
  },
};

interface Place {
  kind: NamedKind;
  texts: readonly string[];
  /** Undefined: the operands. */
  flag?: string;
}

/** The arguments with ids in place of names. */
export async function withIds(given: Given, { operands = [], flags = {} }: Command): Promise<Given> {
  const [{ of: ofOperands } = {}] = operands;
  const named: Place[] =
    ofOperands === undefined || given.operands.every(isId)
      ? []
      : [{ kind: ofOperands, texts: given.operands }];
  const filters = Object.entries(flags).flatMap(([flag, { of }]): Place[] => {
    const texts = given.texts(flag);
    return of === undefined || texts.length === 0 ? [] : [{ kind: of, texts, flag }];
  });
  const places = [...named, ...filters];
  if (places.length === 0) return given;
  return withService(given, async (posthorn) => {
    const ids: Record<string, string[]> = {};
    for (const { kind, texts, flag = '' } of places)
      for (const text of texts) (ids[flag] ??= []).push(await idOf(posthorn, kind, text));
    const { '': ofPlaces = given.operands, ...ofFlags } = ids;
    return given.with(ofFlags, ofPlaces);
  });
}

async function idOf(posthorn: Posthorn, kind: NamedKind, text: string): Promise<string> {
  const { plural, get, list, history } = kinds[kind];
  if (text === '') throw new StartupError(`the name of the ${kind} is empty; posthorn ${plural} lists them`);
  if (isId(text)) {
    if (await exists(() => get(posthorn, text))) return text;
    const past = await history?.(posthorn, text).page();
    if (past !== undefined && past.content.length > 0) return text;
  }
  const { content } = await list(posthorn, text).page();
  const named = content.filter(({ name }) => name === text);
  const others = named.length > 0 ? [] : (await list(posthorn).page()).content;
  return pickOne({ kind, text, advice: `posthorn ${plural} lists them` }, [...named, ...others]).uid;
}

async function exists(read: () => Promise<object>): Promise<boolean> {
  try {
    await read();
    return true;
  } catch (error) {
    if (error instanceof PosthornError && error.status === 404) return false;
    throw error;
  }
}
