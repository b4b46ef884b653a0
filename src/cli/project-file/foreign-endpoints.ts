import { setTimeout as wait } from 'node:timers/promises';
import type { Endpoint, EventType, Project, Subscription } from '../../../client/src/posthorn.ts';
import { isConnectionHeader, isDeliveryHeader } from '../../domain/http-header.ts';
import { StartupError } from '../../platform/startup-error.ts';
import { type ForeignConfig, type ForeignPlace, ForeignRefusal } from './foreign-service.ts';
import type { Fields } from './project-document.ts';

/*
 * For services whose API is not like ours, and whose endpoints choose their events themselves: each becomes an endpoint
 * with one subscription. The customer that has it becomes its owner.
 */
export interface ForeignEndpoint {
  id: string;
  name: string;
  url: string;
  owner: string;
  /** Empty: the service does not show it. */
  secret: string;
  isActive: boolean;
  /** Sends per second; 0 = no limit. */
  perSecond: number;
  headers: Record<string, string>;
  metadata: Fields;
  eventTypes: string[];
  /** Conditions on the payload. */
  body: Fields;
  /** Reasons why its receiver would get other requests than before. It starts inactive then. */
  differs: string[];
  /** Other things that it had: `its previous secret`. */
  lost: string[];
}

export const ONE_OWNER =
  'The way of an event to one customer: send it as a fan-out event with the owner_id, because other events go to the endpoints of all.';

export function configOf(
  endpoints: readonly ForeignEndpoint[],
  eventTypes: readonly Partial<EventType>[],
): ForeignConfig {
  return {
    answers: {
      project: { config: {} } as unknown as Project,
      eventTypes: eventTypes.map((type) => ({ uid: type.name, deprecated_at: null, ...type }) as EventType),
      sources: [],
      endpoints: endpoints.map(endpointOf),
      subscriptions: endpoints.map(subscriptionOf),
      filters: new Map(),
    },
    lost: endpoints.flatMap((one) => [
      ...one.differs.map((what) => `The endpoint ${one.name} is inactive in the file: ${what}`),
      ...[...one.lost, ...lostOf(one)].map((what) => `The endpoint ${one.name} loses ${what}.`),
    ]),
  };
}

function endpointOf(one: ForeignEndpoint): Endpoint {
  const headers = Object.entries(one.headers);
  const [, agent] = headers.find(([name]) => isUserAgent(name)) ?? [];
  return {
    uid: one.id,
    name: one.name,
    url: one.url,
    owner_id: one.owner,
    status: one.isActive && one.differs.length === 0 ? 'active' : 'inactive',
    secrets: one.secret === '' ? [] : [{ value: one.secret, expires_at: null }],
    rate_limit: one.perSecond,
    rate_limit_duration: one.perSecond === 0 ? 0 : 1,
    headers: Object.fromEntries(headers.filter(([name]) => !isOurs(name))),
    ...(agent !== undefined && { user_agent: agent }),
    metadata: isMetadata(one.metadata) ? one.metadata : {},
  } as unknown as Endpoint;
}

const isUserAgent = (name: string): boolean => name.toLowerCase() === 'user-agent';
const isOurs = (name: string): boolean => isConnectionHeader(name) || isDeliveryHeader(name);

/** Whether an endpoint can have it: few texts, under plain names. */
function isMetadata(given: Fields): boolean {
  const entries = Object.entries(given);
  return (
    entries.length <= 20 &&
    entries.every(
      ([name, value]) =>
        /^[A-Za-z0-9._-]{1,64}$/.test(name) && typeof value === 'string' && value.length <= 1024,
    )
  );
}

function lostOf({ headers, metadata }: ForeignEndpoint): string[] {
  const ours = Object.keys(headers).filter((name) => isOurs(name) && !isUserAgent(name));
  return [
    ...ours.map((name) => `its header ${name}, which deliveries have from Posthorn`),
    ...(isMetadata(metadata) ? [] : ['its metadata']),
  ];
}

function subscriptionOf({ id, name, eventTypes, body }: ForeignEndpoint): Subscription {
  return {
    uid: id,
    name,
    status: 'active',
    endpoint_metadata: { uid: id },
    filter_config: { event_types: eventTypes, filter: { body } },
  } as unknown as Subscription;
}

const TIMEOUT_MS = 30_000;
const MOST_TRIES = 10;

/** The JSON of a path. It waits where the service asks for that. */
export async function getJson<T>({ url, key }: ForeignPlace, path: string): Promise<T> {
  for (let tries = 1; ; tries++) {
    const response = await fetch(url.replace(/\/+$/, '') + path, {
      headers: { authorization: `Bearer ${key}`, accept: 'application/json' },
      // A key goes to the named address only.
      redirect: 'manual',
      signal: AbortSignal.timeout(TIMEOUT_MS),
    }).catch((cause: unknown) => {
      throw new StartupError(`the service at ${url} does not answer; start it, or name another with --url`, {
        cause,
      });
    });
    if (response.ok) return parsed(url, await response.text()) as T;
    if (response.status !== 429 || tries === MOST_TRIES) throw new ForeignRefusal(path, response.status);
    await wait(1000 * (Number(response.headers.get('retry-after')) || 1));
  }
}

function parsed(url: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new StartupError(`${url} does not answer with JSON; check --url`, { cause });
  }
}

/** Another version of a service may answer in another form. */
export function requireList({ url }: ForeignPlace, value: unknown, path: string): void {
  if (!Array.isArray(value))
    throw new StartupError(
      `${url} answered ${path} without a list; check --url and the version of the service`,
    );
}

/** A name for people, where the service has none. */
export function placeOf(url: string): string {
  const { host, pathname } = URL.parse(url) ?? { host: url, pathname: '' };
  return host + pathname;
}
