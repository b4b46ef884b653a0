import { credential, open } from '../../platform/json/schema-marks.ts';
import { oneOf, Text, Type } from '../../platform/type.ts';
import { brokerInput } from '../brokers/broker-schema.ts';
import { destinationKinds } from '../config/destination.ts';
import { Authentication } from '../config/endpoint-authentication.ts';

export const ClientCertificate = Type.Object({
  client_cert: Text(65_536, 'Client certificate in PEM. Both parts empty: none.'),
  client_key: credential(Text(65_536, 'Its private key in PEM. `***` keeps the stored key.')),
});

export const perKind = <T>(make: (kind: (typeof destinationKinds)[number]) => T): Record<string, T> =>
  Object.fromEntries(destinationKinds.map((kind) => [kind, make(kind)]));

/** The broker that deliveries go to. Its settings are nested by kind, as those of sources are. */
export const BrokerInput = Type.Partial(
  Type.Object({
    type: open(oneOf([...destinationKinds, ''])),
    ...perKind((kind) => brokerInput(kind, 'destination')),
  }),
  { description: 'See [Destinations](brokers.md#destinations).' },
);

/** Anyone with the address of a channel can post there. */
const chat = (description: string) => credential(Text(2048, description));

/** The credentials of an endpoint in requests. They are stored sealed together. */
export const endpointCredentials = Type.Partial(
  Type.Object({
    authentication: Authentication,
    mtls_client_cert: Type.Partial(ClientCertificate),
    signing_key: Type.Partial(
      Type.Object({
        type: oneOf(
          ['ed25519', ''],
          'Creates a key pair that adds a signature. Empty or absent: removes it.',
        ),
      }),
    ),
    slack_webhook_url: chat('Gets the [alerts](alerts.md) of the endpoint in Slack.'),
    teams_webhook_url: chat('Gets the [alerts](alerts.md) of the endpoint in Teams.'),
    headers: credential(
      Type.Record(Type.String(), Text(8192), {
        description:
          'Headers of every delivery, at most 32. Stored sealed. They replace those of the event, and none of ours.',
      }),
    ),
    broker: BrokerInput,
    secret: credential(
      Text(
        1024,
        'Signs deliveries. Default: random. An update replaces all secrets at once. Use expire_secret to keep the old one signing for a while.',
      ),
    ),
  }),
).properties;
