import { RECEIVER_URL } from '../../domain/delivery.ts';

interface RequestExample {
  /** A value that starts with `$` is a shell variable. */
  body?: unknown;
  query?: string;
}

const largeAmount = { body: { amount: { $gt: 100 } } };
const project = { config: { strategy: { type: 'exponential', duration: 10, retry_count: 12 } } };
const source = { name: 'payments', is_disabled: false };
const filters = [{ uid: '$filter_id', ...largeAmount }];
const transform = {
  payload: { invoice: 7, amount: '12.50' },
  function: 'function transform(payload) { return { ...payload, currency: "EUR" }; }',
};
const email = 'ann@example.com';
const password = 'orchid lamp quarry 7';
const code = { code: '$code' };
const spec = {
  openapi: '3.1.0',
  webhooks: { 'invoice.sent': { post: { summary: 'An invoice was sent.' } } },
};

/**
 * Requests by operation, where the required fields alone make no good example. test/docs/reference.test.ts runs the
 * example of every operation.
 */
export const requestExamples: Record<string, RequestExample> = {
  createProject: { body: { name: 'shop', type: 'outgoing' } },
  updateProject: { body: project },
  updateProjectByPost: { body: project },
  createKey: { body: { name: 'ci' } },
  rollSigningKey: { body: { expiration: 86_400 } },
  createEndpoint: { body: { name: 'billing', url: RECEIVER_URL, owner_id: 'customer-42' } },
  updateEndpoint: { body: { name: 'billing', description: 'Invoices of the shop' } },
  expireSecret: { body: { expiration: 86_400 } },
  tryEndpoint: { body: { endpoint: { url: RECEIVER_URL }, event_type: 'invoice.paid' } },
  testOAuth2: {
    body: {
      oauth2: {
        url: 'https://auth.example.com/token',
        client_id: 'posthorn',
        grant_type: 'client_credentials',
        authentication_type: 'shared_secret',
        client_secret: 'correct horse battery staple',
      },
    },
  },
  onboard: { body: { items: [{ name: 'billing', url: RECEIVER_URL, event_type: 'invoice.paid' }] } },
  pullEndpoint: { body: { max: 10, wait_seconds: 1 } },
  reportResults: {
    body: { results: [{ uid: '$event_delivery_id', lease: '$lease', ok: true }] },
  },
  createSource: { body: { name: 'payments', type: 'http' } },
  updateSource: { body: source },
  updateSourceByPost: { body: source },
  testSourceFunction: { body: transform },
  createSubscription: {
    body: { name: 'invoices', endpoint_id: '$endpoint_id', filter_config: { event_types: ['invoice.*'] } },
  },
  updateSubscription: { body: { name: 'invoices', filter_config: { event_types: ['invoice.*'] } } },
  testFilter: { body: { request: { body: { amount: 120 } }, schema: largeAmount } },
  previewSubscription: { body: { filter_config: { event_types: ['invoice.*'], filter: largeAmount } } },
  testSubscriptionFunction: { body: transform },
  createFilter: { body: { event_type: 'invoice.paid', ...largeAmount } },
  createFilters: { body: [{ event_type: 'invoice.sent', ...largeAmount }] },
  updateFilter: { body: largeAmount },
  updateFilters: { body: filters },
  updateFiltersByPost: { body: filters },
  tryFilters: { body: { payload: { amount: 120 } } },
  createEventType: { body: { name: 'invoice.paid', description: 'An invoice was paid.' } },
  updateEventType: { body: { description: 'A customer paid an invoice.' } },
  importEventTypes: { body: { spec: JSON.stringify(spec) } },
  batchEvents: {
    body: {
      events: [
        {
          kind: 'broadcast',
          event_type: 'invoice.paid',
          data: { invoice: 7 },
          idempotency_key: 'invoice-7-paid',
        },
        { kind: 'fanout', owner_id: 'customer-42', event_type: 'invoice.due', data: { invoice: 8 } },
      ],
    },
  },
  createEvent: {
    body: { endpoint_id: '$endpoint_id', event_type: 'invoice.paid', data: { invoice: 7, amount: '12.50' } },
  },
  rescheduleEvent: { body: { delay_seconds: 3_600 } },
  batchReplayEvents: { query: 'endpointId=$endpoint_id' },
  skipOrderingKeys: { body: { ids: ['$ordering_key_id'] } },
  forceResendEventDeliveries: { body: { ids: ['$event_delivery_id'] } },
  batchRetryEventDeliveries: { query: 'endpointId=$endpoint_id&status=Failure' },
  sendNowEventDeliveries: { query: 'endpointId=$endpoint_id' },
  cancelEventDeliveries: { query: 'endpointId=$endpoint_id' },
  muteFailures: { body: { endpoint_id: '$endpoint_id', outcome: 'http_503' } },
  search: { query: 'q=invoice' },
  saveView: { body: { page: 'deliveries', name: 'Failed', query: 'status=Failure' } },
  updatePortalLink: { body: { name: 'billing', owner_id: 'customer-42' } },
  changePassword: { body: { current_password: password, new_password: `${password} and more` } },
  confirmSecondFactor: { body: code },
  passSecondFactor: { body: code },
  removeSecondFactor: { body: code },
  renewRecoveryCodes: { body: code },
  inviteToProject: { body: { email: 'bob@example.com', role: 'viewer' } },
  inviteToInstance: { body: { email: 'root@example.com', name: 'Root' } },
  updateMe: { body: { name: 'Ann' } },
  updateAccount: { body: { name: 'Bob' } },
  createSignInLink: { body: { email, purpose: 'sign_in' } },
  signIn: { body: { email, password } },
  requestReset: { body: { email } },
  checkLink: { body: { token: '$token' } },
  useLink: { body: { token: '$token', password } },
};
