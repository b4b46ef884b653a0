import type { Secret } from '../platform/secret.ts';
import type { EndpointSecrets } from './endpoint.ts';

/**
 * What an endpoint's owner is told of: raised once when trouble begins, cleared once when it is over.
 *
 * failures: a subscription's attempts failed too often; breaker: the endpoint's circuit breaker opened; disabled: the
 * service made the endpoint inactive.
 */
export type AlertKind = 'failures' | 'breaker' | 'disabled';

/** How the last attempt that failed ended. */
export interface LastFailure {
  /** As the endpoint answered, such as `503 Service Unavailable`; null where it did not. */
  status: string | null;
  reason: string;
}

export interface Alert {
  kind: AlertKind;
  state: 'raised' | 'cleared';
  endpoint: {
    id: string;
    name: string;
    url: string;
    support_email: string;
    secret: Secret<Pick<EndpointSecrets, 'slack_webhook_url' | 'teams_webhook_url'>>;
  };
  /** Of the kind failures. */
  subscription: { id: string; name: string } | null;
  /** What happened, as one sentence. */
  summary: string;
  lastFailure: LastFailure | null;
}

export function alertSubject({ subscription, endpoint }: Alert): string {
  return subscription?.id ?? endpoint.id;
}

const ADVICE: Record<AlertKind, string> = {
  failures: 'Check that the endpoint is reachable and answers with a 2xx status.',
  breaker:
    'Check that the endpoint is reachable and answers with a 2xx status. Its deliveries are held and go out once it does.',
  disabled:
    'Deliveries to it are discarded. Once the endpoint works again, activate it and resend what it missed.',
};

export function alertTitle({ state, endpoint }: Alert): string {
  const name = oneLine(endpoint.name);
  return state === 'raised'
    ? `Webhook endpoint ${name} needs attention`
    : `Webhook endpoint ${name} recovered`;
}

/** For people: one line per fact. */
export function alertLines(alert: Alert): string[] {
  const { endpoint, subscription, summary, lastFailure, kind, state } = alert;
  return [
    `Endpoint: ${oneLine(endpoint.name)} (${endpoint.id})`,
    `URL: ${shownUrl(endpoint.url)}`,
    ...(subscription === null ? [] : [`Subscription: ${oneLine(subscription.name)} (${subscription.id})`]),
    `What happened: ${summary}`,
    ...(lastFailure === null
      ? []
      : [
          `Last status: ${oneLine(lastFailure.status ?? 'no answer')}`,
          `Last reason: ${oneLine(lastFailure.reason)}`,
        ]),
    `What to do: ${state === 'raised' ? ADVICE[kind] : 'Nothing.'}`,
  ];
}

/** As the meta event shows it. Where else it was sent is left out: whoever knows such an address may post there. */
export function alertData(alert: Alert, projectId: string): object {
  const { endpoint, subscription, lastFailure } = alert;
  return {
    kind: alert.kind,
    project_id: projectId,
    endpoint_id: endpoint.id,
    endpoint: { uid: endpoint.id, name: endpoint.name, url: endpoint.url },
    subscription_id: subscription?.id ?? '',
    summary: alert.summary,
    last_status: lastFailure?.status ?? '',
    last_reason: lastFailure?.reason ?? '',
  };
}

/** Users, passwords and queries may be credentials. */
function shownUrl(text: string): string {
  const url = URL.parse(text);
  return url === null ? '' : `${url.origin}${url.pathname}`;
}

const MAX_CHARS = 500;

/** Names and reasons come from tenants and endpoints: they cannot begin lines of their own, nor fill a screen. */
function oneLine(text: string): string {
  return text.slice(0, MAX_CHARS).replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ');
}
