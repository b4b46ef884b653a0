import type { BrokerWords } from './words-en.ts';

/** Labels and hints are found by their English text. */
export const brokerWords: BrokerWords = {
  kind: 'Broker',
  none: 'Keine',
  ownKey: 'Der Schlüssel unten',
  kept: 'Gespeichert und nicht angezeigt. Leer lassen, um es zu behalten.',
  hidden: 'Die Einstellungen des Brokers werden nicht angezeigt. Sie bleiben, wie sie sind.',
  labels: {
    Brokers: 'Broker',
    Topic: 'Topic',
    Authentication: 'Anmeldung',
    Hash: 'Hash',
    'User name': 'Benutzername',
    Password: 'Passwort',
    TLS: 'TLS',
    Protocol: 'Protokoll',
    Host: 'Host',
    Port: 'Port',
    'Virtual host': 'Virtueller Host',
    Exchange: 'Exchange',
    'Routing key': 'Routing-Key',
    Queue: 'Warteschlange',
    'Access key id': 'ID des Zugangsschlüssels',
    'Secret key': 'Geheimer Schlüssel',
    Region: 'Region',
    Endpoint: 'Server',
    'Google project': 'Google-Projekt',
    'Service account': 'Dienstkonto',
    Bucket: 'Bucket',
    Prefix: 'Präfix',
    Credentials: 'Anmeldedaten',
  },
  hints: {
    'Each as host:port.': 'Jeder als host:port.',
    'For scram.': 'Für scram.',
    'Default: 5672, with TLS 5671.': 'Standard: 5672, mit TLS 5671.',
    'Empty: the default exchange. The routing key is the name of the queue then.':
      'Leer: der Standard-Exchange. Der Routing-Key ist dann der Name der Warteschlange.',
    'Empty: the event type.': 'Leer: der Ereignistyp.',
    'Another server with the same protocol, as an http or https URL.':
      'Ein anderer Server mit demselben Protokoll, als URL mit http oder https.',
    'The key file: base64, or an array of byte values.':
      'Die Schlüsseldatei: base64 oder eine Liste von Bytewerten.',
    'The names of all objects begin with it, such as events/.':
      'Die Namen aller Objekte beginnen damit, etwa events/.',
    'workload: those of the machine that Posthorn runs on, if its operator allows it, instead of a key.':
      'workload: die der Maschine, auf der Posthorn läuft, statt eines Schlüssels, wenn der Betreiber es erlaubt.',
  },
};
