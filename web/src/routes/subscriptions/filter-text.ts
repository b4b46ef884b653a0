import type { Subscription } from 'posthorn-client';

const SCOPES = ['body', 'headers', 'query', 'path'] as const;
type Conditions = Partial<Record<(typeof SCOPES)[number], Record<string, unknown>>>;

/** The conditions of a subscription, empty scopes left out. */
export function conditionsOf({ filter_config }: Pick<Subscription, 'filter_config'>): Conditions {
  const { filter } = filter_config;
  return Object.fromEntries(
    SCOPES.map((scope) => [scope, filter[scope]] as const).filter(
      ([, value]) => Object.keys(value ?? {}).length > 0,
    ),
  );
}

export const hasFilter = (subscription: Pick<Subscription, 'filter_config'>): boolean =>
  Object.keys(conditionsOf(subscription)).length > 0;

/** The filter as it is typed. A text without scopes is about the body. Throws if it is no JSON object. */
export function parseConditions(text: string): Required<Conditions> {
  const empty = { body: {}, headers: {}, query: {}, path: {} };
  if (text.trim() === '') return empty;
  const value: unknown = JSON.parse(text);
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new SyntaxError('A filter is a JSON object.');
  const isScoped = Object.keys(value).every((key) => (SCOPES as readonly string[]).includes(key));
  return isScoped ? { ...empty, ...value } : { ...empty, body: value as Record<string, unknown> };
}
