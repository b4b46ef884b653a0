import { createHash } from 'node:crypto';
import { formBody } from '../../dispatch/client/form-body.ts';
import { functionRequestPlace, isBatch, type LeasedDelivery } from '../../domain/delivery.ts';
import type { Sealer } from '../../platform/sealer.ts';
import { Secret } from '../../platform/secret.ts';
import { seesVariables } from '../../routing/function-contract.ts';
import type { FunctionRequest } from '../../routing/function-request.ts';
import type { ProjectRouting, RoutedEndpoint } from '../../routing/project-routing.ts';
import { runFunction } from '../../routing/run-function.ts';
import type { Sandbox } from '../../sandbox/sandbox.ts';
import type { SubscriptionRow } from '../../store/config/subscriptions.ts';
import type { Finish } from '../../store/queue/finish.ts';
import { ended, ourFault, type Sent } from './sent.ts';

/** Made by a function just now, to be kept for later attempts. All null: nothing was made. */
export type Made = Pick<Finish, 'body' | 'functionRequest'>;

export type MadeBody =
  /** `request`: the other parts that a function set, now or before. Null: none. */
  { kind: 'made'; made: Made; request: FunctionRequest | null } | { kind: 'not made'; sent: Sent };

export const NOTHING_MADE: Made = { body: null, functionRequest: null };

/** The first steps of an attempt, also of one that a consumer makes: the endpoint can be read, and the body is made. */
export async function makeBody(
  { sandbox, sealer }: { sandbox: Pick<Sandbox, 'run'>; sealer: Sealer },
  delivery: LeasedDelivery,
  { endpoint, routing }: { endpoint: RoutedEndpoint; routing: ProjectRouting },
): Promise<MadeBody> {
  const notMade = (sent: Sent): MadeBody => ({ kind: 'not made', sent });
  const place = functionRequestPlace(delivery.id);
  if (endpoint.row.secret.revealOrNull() === null)
    return notMade(ourFault(delivery, 'the secrets of its endpoint cannot be opened'));
  const subscription = routing.subscriptions.get(delivery.subscriptionId ?? '')?.row;
  if (delivery.functionRequest !== null) {
    const sealed = Buffer.from(delivery.functionRequest, 'base64');
    const stored = Secret.sealed(() => JSON.parse(sealer.open(sealed, place)) as FunctionRequest);
    const request = stored.revealOrNull();
    if (request === null)
      return notMade(ourFault(delivery, 'the request that its function made cannot be opened'));
    return isAstray(request, endpoint, { subscription, routing })
      ? notMade(ended(delivery, 'Failure', OTHER_ADDRESS))
      : { kind: 'made', made: NOTHING_MADE, request };
  }
  const code = codeFor(delivery, subscription);
  if (code === '') return { kind: 'made', made: NOTHING_MADE, request: null };
  const variables = subscription?.is_portal_function ? {} : routing.project.variables.revealOrNull();
  if (variables === null) return notMade(ourFault(delivery, 'the variables of its project cannot be opened'));
  const run = await runFunction(sandbox, { code, variables }, delivery);
  if (run.kind === 'failed') return notMade(ended(delivery, 'Failure', run.reason));
  if (run.kind === 'cancelled') return notMade(ended(delivery, 'Discarded', run.reason));
  if (run.kind === 'unavailable') return notMade(ourFault(delivery, run.reason));
  const { body } = run;
  const hasRead = Object.keys(variables).length > 0;
  const request = run.request && { ...run.request, ...(hasRead && { madeFor: addressOf(endpoint) }) };
  const sealed = request === null ? null : sealer.seal(JSON.stringify(request), place).toString('base64');
  return { kind: 'made', made: { body, functionRequest: sealed }, request };
}

/** Empty: no function runs, or it has made the body. Of a batch it runs for each delivery before. */
function codeFor(delivery: LeasedDelivery, subscription: SubscriptionRow | undefined): string {
  return delivery.hasOwnBody || isBatch(delivery) ? '' : (subscription?.function ?? '');
}

const OTHER_ADDRESS =
  'The endpoint has another address since its function made the request with variables; replay the event.';

/** A broker has no URL, and its settings have credentials: their hash stands for them. */
function addressOf({ row }: RoutedEndpoint): string {
  const broker = row.delivery === 'broker' ? row.secret.reveal().broker : null;
  if (!broker) return `${row.delivery} ${row.url}`;
  return `broker ${createHash('sha256').update(JSON.stringify(broker)).digest('hex')}`;
}

/**
 * A stored request may have variables anywhere in it. While the function sees variables, no portal link changes the
 * address, so another one is from the owner of the project. Afterwards a link may have changed it.
 */
function isAstray(
  { madeFor }: FunctionRequest,
  endpoint: RoutedEndpoint,
  of: { subscription: SubscriptionRow | undefined; routing: ProjectRouting },
): boolean {
  if (madeFor === undefined || madeFor === addressOf(endpoint)) return false;
  const variables = of.routing.project.variables.revealOrNull() ?? {};
  const isKept = of.subscription !== undefined && seesVariables(of.subscription);
  return !isKept || Object.keys(variables).length === 0;
}

const FORM = 'application/x-www-form-urlencoded';

/**
 * The bytes on the wire and their type. The result of a function is JSON, and a form endpoint gets a JSON
 * object as form fields.
 */
export function encodeBody(
  delivery: Pick<LeasedDelivery, 'body' | 'hasOwnBody' | 'contentType'>,
  made: Buffer | null,
  contentType: string,
): { body: Buffer; contentType: string | null } {
  const body = made ?? delivery.body;
  const ownType = made !== null || delivery.hasOwnBody ? null : delivery.contentType;
  if (contentType !== FORM || ownType !== null) return { body, contentType: ownType };
  const form = formBody(body);
  return form.kind === 'form' ? { body: form.body, contentType: FORM } : { body, contentType: null };
}
