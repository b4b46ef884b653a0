import type { Endpoint } from 'posthorn-client';
import { agentSubscription } from '../../dashboard/agent-mark.tsx';
import { CustomerLink } from '../../dashboard/customer-link.tsx';
import { PageLink } from '../../parts/page-link.tsx';
import { Facts } from '../../ui/tables/facts.tsx';
import { Id } from '../../ui/text/id.tsx';
import { Time } from '../../ui/text/time.tsx';

const AUTHENTICATIONS = {
  '': 'none',
  api_key: 'a key in a header',
  basic_auth: 'user name and password',
  oauth2: 'OAuth 2',
};

export function EndpointFacts({ endpoint }: { endpoint: Endpoint }) {
  const { rate_limit: limit, rate_limit_duration: seconds, owner_id: owner } = endpoint;
  /** Keeps a fact that only what is sent has. */
  const sent = <T,>(value: T): T | undefined => (endpoint.delivery === 'pull' ? undefined : value);
  /** Keeps a fact that only requests to an address have. */
  const asked = <T,>(value: T): T | undefined => (endpoint.delivery === 'push' ? value : undefined);
  return (
    <Facts
      items={[
        ['Customer', <CustomerLink key="" owner={owner} />],
        ['Agent', agentSubscription(endpoint)],
        ['Delivery', endpoint.delivery],
        ['Circuit breaker', sent(endpoint.cb_state || 'closed')],
        ['Rate limit', limit === 0 ? 'none' : `${limit} deliveries in ${seconds} s`],
        ['Timeout', sent(endpoint.http_timeout === 0 ? 'as the project' : `${endpoint.http_timeout} s`)],
        ['Authentication', asked(AUTHENTICATIONS[endpoint.authentication?.type ?? ''])],
        ['Client certificate', asked(endpoint.mtls_client_cert === undefined ? 'none' : 'yes')],
        ['Headers', Object.keys(endpoint.headers).join(', ') || 'none'],
        ['Body', endpoint.content_type === 'application/json' ? 'JSON' : 'form fields'],
        ['CloudEvents', endpoint.cloudevents || undefined],
        ['Envelope', endpoint.envelope === 'project' ? 'as the project' : endpoint.envelope],
        ['webhook-id', `id of the ${endpoint.webhook_id}`],
        ['User agent', asked(endpoint.user_agent || 'as the project')],
        ['Final status codes', asked(endpoint.final_status_codes.join(', ') || 'as the project')],
        [
          'Metadata',
          Object.entries(endpoint.metadata)
            .map((pair) => pair.join(': '))
            .join(', ') || 'none',
        ],
        ['Alert email', endpoint.support_email || 'none'],
        [
          'Subscriptions',
          <PageLink key="" to="subscriptions" filters={{ endpoint: endpoint.uid }}>
            Show
          </PageLink>,
        ],
        ['Verification', asked(endpoint.verification === 'challenge' ? 'challenge' : 'none')],
        ['Expires', <Time key="" at={endpoint.expires_at} none="never" />],
        ['Created', <Time key="" at={endpoint.created_at} />],
        ['ID', <Id key="" value={endpoint.uid} what="endpoint id" />],
      ]}
    />
  );
}
