import type { Static, TObject } from 'typebox';
import { type NewEndpoint, newEndpoint, newSecret } from '../../control/new-endpoint.ts';
import { usesTls } from '../../domain/config/destination.ts';
import type { EndpointSecrets } from '../../domain/config/endpoint.ts';
import type { ProjectConfig } from '../../domain/config/project-config.ts';
import type { EndpointScope } from '../../domain/endpoint-scope.ts';
import { AppError, invalid } from '../../domain/errors.ts';
import type { EndpointFields } from '../../domain/resources/endpoint-fields.ts';
import { Secret } from '../../platform/secret.ts';
import { MAX_HOPS } from '../../signing/hops.ts';
import type { EndpointRow } from '../../store/config/endpoints.ts';
import { checkWorkload, usesWorkload } from '../brokers/read-broker.ts';
import type { Call } from '../http/call.ts';
import { checkUrl } from '../http/check-settings.ts';
import type { ReadContext, SendContext } from '../http/context.ts';
import { parseTime } from '../http/fields.ts';
import { MASK } from '../http/portal-view.ts';
import { updated } from '../http/updated.ts';
import { askConsent } from './ask-consent.ts';
import { readDestination } from './broker-of-endpoint.ts';
import { changedCredentials, checkEndpointHeaders, checkSigningKey } from './endpoint-credentials.ts';
import { CreateEndpoint, UpdateEndpoint } from './endpoint-schema.ts';

type Input = Static<typeof CreateEndpoint> | Static<typeof UpdateEndpoint>;

/** The endpoint that a request asks for, over the defaults. */
export function createdEndpoint(context: ReadContext, input: Static<typeof CreateEndpoint>): NewEndpoint {
  const { name, url = '', secret } = input;
  const made = newEndpoint(context, { id: context.ids.next(), name, url, secret });
  const asked = withInput(context, made, { schema: CreateEndpoint, input });
  return { ...asked, app_id: asked.app_id || asked.id };
}

/** An endpoint after a request. */
export function changedEndpoint(
  context: ReadContext,
  row: EndpointRow,
  input: Static<typeof UpdateEndpoint>,
): EndpointRow {
  const after = withInput(context, row, { schema: UpdateEndpoint, input });
  const secrets = after.secret.reveal();
  if (!input.secret || input.secret === secrets.secrets.at(-1)?.value) return after;
  return { ...after, secret: new Secret({ ...secrets, secrets: [newSecret(context, input.secret)] }) };
}

function withInput<One extends NewEndpoint>(
  context: ReadContext,
  known: One,
  asked: { schema: TObject; input: Input },
): One {
  const fields = endpointFields(context, known, asked);
  const secrets = changedCredentials(context, known.secret.reveal(), asked.input);
  return { ...known, ...fields, secret: new Secret(withBrokerOf(fields, secrets, asked.input)) };
}

function endpointFields(
  { now }: Pick<ReadContext, 'now'>,
  known: EndpointFields,
  { schema, input }: { schema: TObject; input: Input },
): EndpointFields {
  const fields = updated(known, schema, {
    ...input,
    delivery: input.delivery || undefined,
    envelope: input.envelope || undefined,
    webhook_id: input.webhook_id || undefined,
    verification: input.verification || undefined,
    expires_at: expiry(input.expires_at, known, now()),
  });
  if (fields.delivery === 'broker' && input.url)
    throw invalid('url', 'must be empty when delivery is broker');
  return {
    ...fields,
    ...(fields.delivery === 'broker' && { url: '' }),
    content_type: fields.content_type || 'application/json',
    // Clients that know the field send false with every change, so false must not change anything.
    status: input.is_disabled === true ? 'inactive' : known.status,
  };
}

/** Each kind of delivery has its own address. That of the kind before goes, unless the request names it. */
function withBrokerOf(
  { delivery, url }: EndpointFields,
  secrets: EndpointSecrets,
  input: Input,
): EndpointSecrets {
  const { broker = null } = secrets;
  if (delivery !== 'broker' && input.broker?.type)
    throw invalid('broker', 'is allowed only when delivery is broker');
  if (delivery === 'push' && url === '') throw invalid('url', 'is required');
  if (delivery === 'broker' && broker === null)
    throw invalid('broker', 'is required when delivery is broker');
  if (delivery === 'broker' || broker === null) return secrets;
  return { ...secrets, broker: null };
}

/** A time that is stored already may be past: callers write back what they read. */
function expiry(
  given: string | null | undefined,
  known: EndpointFields,
  nowMs: number,
): number | null | undefined {
  if (given === undefined || given === null) return given;
  const ms = parseTime('expires_at', given);
  if (ms <= nowMs && ms !== known.expires_at) throw invalid('expires_at', 'must be in the future');
  return ms;
}

/**
 * A portal link that does not see credentials could have them sent to a server of its own. So it changes an address only
 * together with the credentials for it.
 */
export function requireOwnCredentials(
  scope: EndpointScope | undefined,
  row: EndpointRow,
  input: Input,
): void {
  if (scope === undefined || scope.canSeeSecrets || !namesOtherAddress(row, input)) return;
  const { authentication, headers } = input;
  const stored = row.secret.reveal();
  const ownHeaders = Object.keys(stored.headers ?? {}).length > 0;
  const what =
    stored.authentication !== null && authentication === undefined
      ? 'authentication'
      : ownHeaders && (headers === undefined || Object.values(headers).includes(MASK))
        ? 'headers'
        : undefined;
  if (what !== undefined)
    throw new AppError('portal_forbidden', {
      what: `a new ${input.url ? 'url' : 'address'} with the stored ${what}`,
    });
}

/** Such a link does not see the settings of a broker either, so those that it gives are new. */
const namesOtherAddress = (row: EndpointRow, { url, delivery, broker }: Input): boolean =>
  (url !== undefined && url !== row.url) ||
  Boolean(broker?.type) ||
  (delivery === 'broker' && row.delivery !== 'broker');

/** Portal links send to brokers only where they and their project allow it: their customers reach servers of others then. */
export function requireBrokerRight(
  scope: EndpointScope | undefined,
  { portal_brokers }: ProjectConfig,
  { delivery, broker }: Input,
): void {
  if (scope !== undefined && usesWorkload(broker))
    throw new AppError('portal_forbidden', { what: 'credentials of the machine' });
  if (scope === undefined || (scope.canUseBrokers && portal_brokers)) return;
  if (delivery === 'broker' || broker?.type)
    throw new AppError('portal_forbidden', { what: 'sending to brokers' });
}

/**
 * Warns of an address of ours: events may come back, and end after some hops (src/signing/hops.ts). A chain of projects
 * may be meant, so strict callers are not refused.
 */
export function warnOfOwnUrl(
  { publicUrl }: ReadContext,
  { url = '' }: Input,
  call: Pick<Call<unknown>, 'warn'>,
): void {
  const own = new URL(`${publicUrl()}/ingest/`);
  const given = URL.parse(url);
  if (given?.host !== own.host || !given.pathname.startsWith(own.pathname)) return;
  call.warn(
    `url: is an ingest URL of this service; an event that comes back ${MAX_HOPS} times is not sent on`,
  );
}

/** Rules that a schema cannot express. */
export async function checkEndpoint(
  context: ReadContext,
  config: ProjectConfig,
  input: Input,
): Promise<void> {
  checkUrls(context, config, input);
  const destination = input.broker && readDestination(input.broker);
  checkWorkload(destination, { path: 'broker', allowed: context.workload });
  if (destination && config.ssl.enforce_secure_endpoints && !usesTls(destination))
    throw invalid('broker', 'must use TLS in this project');
  if (input.headers !== undefined) checkEndpointHeaders(input.headers, config);
  const { type, oauth2 } = input.authentication ?? {};
  if (type === 'oauth2') await checkSigningKey('authentication.oauth2', oauth2);
}

/**
 * The input with the rate that its address allows. Refuses an address that does not give its consent. Not for a dry run,
 * which sends nothing.
 */
export async function withConsent<In extends Input>(
  context: SendContext,
  config: ProjectConfig,
  input: In,
  known?: EndpointRow,
): Promise<In> {
  const { url = '' } = input;
  if (url === '' || url === known?.url) return input;
  const consent = await askConsent(context, config, url);
  if (!consent.isGiven) throw invalid('url', consent.problem);
  if (consent.perMinute === null || input.rate_limit || known?.rate_limit) return input;
  return { ...input, rate_limit: consent.perMinute, rate_limit_duration: 60 };
}

export function checkUrls(context: ReadContext, config: ProjectConfig, input: Input): void {
  if (input.url !== undefined && input.url !== '') {
    checkUrl(context, 'url', input.url);
    if (config.ssl.enforce_secure_endpoints && !input.url.toLowerCase().startsWith('https:'))
      throw invalid('url', 'must start with https:// in this project');
  }
  for (const field of ['slack_webhook_url', 'teams_webhook_url'] as const) {
    const url = input[field];
    if (url?.includes('\0') === true) throw invalid(field, 'contains a zero character');
    if (url !== undefined && url !== '') checkUrl(context, field, url);
  }
}
