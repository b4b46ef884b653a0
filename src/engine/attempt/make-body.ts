import { formBody } from '../../dispatch/client/form-body.ts';
import type { LeasedDelivery } from '../../domain/delivery.ts';
import type { ProjectRouting, RoutedEndpoint } from '../../routing/project-routing.ts';
import { runFunction } from '../../routing/run-function.ts';
import type { Sandbox } from '../../sandbox/sandbox.ts';
import { ended, ourFault, type Sent } from './sent.ts';

/** `body`: from the subscription's function. Null: it has none, or the delivery has its body already. */
export type MadeBody = { kind: 'made'; body: Buffer | null } | { kind: 'not made'; sent: Sent };

/** The first steps of an attempt, also of one that a consumer makes: the endpoint can be read, and the body is made. */
export async function makeBody(
  sandbox: Pick<Sandbox, 'run'>,
  delivery: LeasedDelivery,
  { endpoint, routing }: { endpoint: RoutedEndpoint; routing: ProjectRouting },
): Promise<MadeBody> {
  const notMade = (sent: Sent): MadeBody => ({ kind: 'not made', sent });
  if (endpoint.row.secret.revealOrNull() === null)
    return notMade(ourFault(delivery, 'the secrets of its endpoint cannot be opened'));
  const code = routing.subscriptions.get(delivery.subscriptionId ?? '')?.row.function ?? '';
  if (code === '' || delivery.hasOwnBody) return { kind: 'made', body: null };
  const run = await runFunction(sandbox, code, delivery);
  if (run.kind === 'failed') return notMade(ended(delivery, 'Failure', run.reason));
  if (run.kind === 'unavailable') return notMade(ourFault(delivery, run.reason));
  return { kind: 'made', body: run.body };
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
