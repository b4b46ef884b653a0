import type { Secret } from '../platform/secret.ts';
import type { CertificateSide, SeenCertificate } from './certificate.ts';
import { type Addressed, addressOf } from './config/destination.ts';
import type { EndpointSecrets } from './config/endpoint.ts';
import type { ShownState } from './config/endpoint-state.ts';

/**
 * Alerts for the owner of an endpoint, raised once when a problem begins and cleared once when it ends.
 * failures: a subscription's attempts failed too often; breaker: the endpoint's circuit breaker opened;
 * disabled: the service made the endpoint inactive; certificate: a certificate of its connections expires
 * soon; ordering: a failed delivery of a subscription holds its ordering key; outage: no attempt at the endpoint
 * has succeeded for long, and it will be made inactive.
 */
export type AlertKind = 'failures' | 'breaker' | 'disabled' | 'certificate' | 'ordering' | 'outage';

export const OUTAGE = 'outage';

/**
 * Alerts about a source, which has no endpoint. source: it has no connection to its broker; source_backlog: its broker
 * has to keep too much for it; source_loop: its events came back to it, and were not sent on.
 */
export type SourceAlertKind = 'source' | 'source_backlog' | 'source_loop';

/** The kind of a row of alerts. */
export type StoredAlertKind = AlertKind | SourceAlertKind;

/** The result of the last failed attempt. */
export interface LastFailure {
  deliveryId: string;
  /** The endpoint's status line, such as `503 Service Unavailable`. Null if it did not answer. */
  status: string | null;
  reason: string;
}

export interface Alert {
  kind: AlertKind;
  state: 'raised' | 'cleared';
  endpoint: {
    id: string;
    project_id: string;
    name: string;
    support_email: string;
    secret: Secret<Pick<EndpointSecrets, 'slack_webhook_url' | 'teams_webhook_url' | 'broker'>>;
  } & Addressed;
  /** Only for the kinds failures and ordering. */
  subscription: { id: string; name: string } | null;
  /** Only for the kind certificate: the one that expires or its replacement. Null: none is used any more. */
  certificate?: { side: CertificateSide; seen: SeenCertificate | null };
  /** The event as one sentence. */
  summary: string;
  lastFailure: LastFailure | null;
}

/** Tells people about an alert, by mail and chat. Returns at once and never fails. */
export interface AlertNotifier {
  notify(alert: Alert): void;
}

/**
 * The subject of an alert. Each subject is raised separately. All certificates of an endpoint on one side are
 * cleared together.
 */
export function alertSubject({ kind, subscription, endpoint, certificate, state }: Alert): string {
  if (kind === OUTAGE) return outageSubject(endpoint.id);
  if (kind === 'ordering' && subscription !== null) return orderingSubject(subscription.id);
  if (certificate === undefined) return subscription?.id ?? endpoint.id;
  const { side, seen } = certificate;
  return certificateSubject(endpoint.id, side, state === 'raised' ? seen?.fingerprint : '');
}

/** A subscription may have an alert of the kind failures at the same time. */
export const orderingSubject = (subscriptionId: string): string => `${subscriptionId} ordering`;

/** An endpoint may have alerts of other kinds at the same time. */
export const outageSubject = (endpointId: string): string => `${endpointId} ${OUTAGE}`;

/** The subject of one certificate, or the prefix of all certificates of an endpoint on that side. */
export function certificateSubject(endpointId: string, side: CertificateSide, fingerprint = ''): string {
  return `${endpointId} ${side} ${fingerprint}`;
}

/** The beginning of a certificate's subject that names its endpoint and side. */
export function certificateSideOf(subject: string): string {
  return subject.slice(0, subject.lastIndexOf(' ') + 1);
}

/** Begins the advice of these kinds. */
const CHECKED: ReadonlySet<AlertKind> = new Set(['failures', 'breaker', 'outage']);
const CHECK = 'Check that the endpoint is reachable and answers with a 2xx status.';
const CHECK_BROKER = 'Check that the broker is reachable and confirms messages.';

const ADVICE: Record<AlertKind, string> = {
  failures: '',
  breaker: 'The circuit breaker holds its deliveries until it does.',
  disabled:
    'Deliveries to it are discarded. Once the endpoint works again, activate it and retry the discarded deliveries.',
  certificate:
    'Renew the certificate before then, because deliveries fail once it has expired. To renew a client certificate, update the endpoint.',
  outage: 'One success is enough to keep it active.',
  ordering: 'Resend the failed delivery or skip it. Later deliveries of its ordering key wait until then.',
};

function adviceOf(kind: AlertKind, isOfBroker: boolean): string {
  const check = CHECKED.has(kind) ? (isOfBroker ? CHECK_BROKER : CHECK) : '';
  return `${check} ${ADVICE[kind]}`.trim();
}

export function alertTitle({ state, endpoint }: Alert): string {
  const name = oneLine(endpoint.name);
  return state === 'raised'
    ? `Webhook endpoint ${name} needs attention`
    : `Webhook endpoint ${name} recovered`;
}

/** For people: one line per fact. */
export function alertLines(alert: Alert): string[] {
  const { endpoint, subscription, summary, lastFailure, kind, state } = alert;
  const isOfBroker = endpoint.delivery === 'broker';
  return [
    `Endpoint: ${oneLine(endpoint.name)} (${endpoint.id})`,
    ...(isOfBroker ? [`Broker: ${oneLine(addressOf(endpoint))}`] : []),
    ...(endpoint.url === '' ? [] : [`URL: ${shownUrl(endpoint.url)}`]),
    ...(subscription === null ? [] : [`Subscription: ${oneLine(subscription.name)} (${subscription.id})`]),
    `What happened: ${oneLine(summary)}`,
    ...(lastFailure === null
      ? []
      : [
          ...(isOfBroker ? [] : [`Last status: ${oneLine(lastFailure.status ?? 'no response')}`]),
          `Last reason: ${oneLine(lastFailure.reason)}`,
        ]),
    `What to do: ${state === 'raised' ? adviceOf(kind, isOfBroker) : 'Nothing.'}`,
  ];
}

export interface AlertLink {
  title: string;
  url: string;
}

/** The pages of the dashboard that an alert is about: its endpoint, and the delivery that failed last. */
export function alertLinks({ endpoint, lastFailure }: Alert, publicUrl: string): AlertLink[] {
  const page = (path: string) => `${publicUrl}/p/${endpoint.project_id}/${path}`;
  return [
    { title: 'Endpoint', url: page(`endpoints/${endpoint.id}`) },
    ...(lastFailure === null
      ? []
      : [{ title: 'Last failed delivery', url: page(`deliveries/${lastFailure.deliveryId}`) }]),
  ];
}

/**
 * The alert as the meta event shows it, without the other recipients, because anyone with such an address can
 * post there.
 */
export function alertData(alert: Alert, publicUrl: string, state?: ShownState): object {
  const { endpoint, subscription, certificate, lastFailure } = alert;
  const [endpointLink, deliveryLink] = alertLinks(alert, publicUrl);
  return {
    kind: alert.kind,
    project_id: endpoint.project_id,
    endpoint_id: endpoint.id,
    endpoint: { uid: endpoint.id, name: endpoint.name, url: addressOf(endpoint), ...state },
    subscription_id: subscription?.id ?? '',
    certificate: certificate === undefined ? null : certificateData(certificate),
    summary: alert.summary,
    last_status: lastFailure?.status ?? '',
    last_reason: lastFailure?.reason ?? '',
    last_delivery_id: lastFailure?.deliveryId ?? '',
    links: { endpoint: endpointLink?.url ?? '', last_delivery: deliveryLink?.url ?? '' },
  };
}

function certificateData({ side, seen }: NonNullable<Alert['certificate']>): object {
  return {
    side,
    subject: seen?.subject ?? '',
    fingerprint: seen?.fingerprint ?? '',
    expires_at: seen === null ? null : new Date(seen.expiresAtMs).toISOString(),
  };
}

/** Users, passwords and queries may be credentials. */
function shownUrl(text: string): string {
  const url = URL.parse(text);
  return url === null ? '' : `${url.origin}${url.pathname}`;
}

const MAX_CHARS = 500;

/** Names and reasons come from tenants and endpoints. They must not add lines or fill a screen. */
function oneLine(text: string): string {
  return text.slice(0, MAX_CHARS).replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ');
}
