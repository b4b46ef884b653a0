import type { BrokerWords } from './words-en.ts';

/** Labels and hints are found by their English text. */
export const brokerWords: BrokerWords = {
  kind: 'Broker',
  none: 'Ninguna',
  ownKey: 'La clave de abajo',
  kept: 'Guardado y no visible. Déjelo vacío para conservarlo.',
  hidden: 'Los ajustes del broker no se muestran. Se quedan como están.',
  labels: {
    Brokers: 'Brokers',
    Topic: 'Tema',
    Authentication: 'Autenticación',
    Hash: 'Hash',
    'User name': 'Usuario',
    Password: 'Contraseña',
    TLS: 'TLS',
    Protocol: 'Protocolo',
    Host: 'Host',
    Port: 'Puerto',
    'Virtual host': 'Host virtual',
    Exchange: 'Exchange',
    'Routing key': 'Clave de enrutamiento',
    Queue: 'Cola',
    'Access key id': 'ID de la clave de acceso',
    'Secret key': 'Clave secreta',
    Region: 'Región',
    Endpoint: 'Servidor',
    'Google project': 'Proyecto de Google',
    'Service account': 'Cuenta de servicio',
    Bucket: 'Bucket',
    Prefix: 'Prefijo',
    Credentials: 'Credenciales',
  },
  hints: {
    'Each as host:port.': 'Cada uno como host:puerto.',
    'For scram.': 'Para scram.',
    'Default: 5672, with TLS 5671.': 'Por defecto: 5672, con TLS 5671.',
    'Empty: the default exchange. The routing key is the name of the queue then.':
      'Vacío: el exchange por defecto. La clave de enrutamiento es entonces el nombre de la cola.',
    'Empty: the event type.': 'Vacío: el tipo de evento.',
    'Another server with the same protocol, as an http or https URL.':
      'Otro servidor con el mismo protocolo, como URL http o https.',
    'The key file: base64, or an array of byte values.':
      'El archivo de la clave: base64 o una lista de bytes.',
    'The names of all objects begin with it, such as events/.':
      'Los nombres de todos los objetos empiezan así, por ejemplo events/.',
    'workload: those of the machine that Posthorn runs on, if its operator allows it, instead of a key.':
      'workload: las de la máquina en la que se ejecuta Posthorn, en vez de una clave, si el operador lo permite.',
  },
};
