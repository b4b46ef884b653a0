import type { BrokerWords } from './words-en.ts';

/** Labels and hints are found by their English text. */
export const brokerWords: BrokerWords = {
  kind: 'Broker',
  none: 'Aucune',
  ownKey: 'La clé ci-dessous',
  kept: 'Enregistré et non affiché. Laissez vide pour le garder.',
  hidden: 'Les réglages du broker ne sont pas affichés. Ils restent inchangés.',
  labels: {
    Brokers: 'Brokers',
    Topic: 'Topic',
    Authentication: 'Authentification',
    Hash: 'Hachage',
    'User name': 'Nom d’utilisateur',
    Password: 'Mot de passe',
    TLS: 'TLS',
    Protocol: 'Protocole',
    Host: 'Hôte',
    Port: 'Port',
    'Virtual host': 'Hôte virtuel',
    Exchange: 'Exchange',
    'Routing key': 'Clé de routage',
    Queue: 'File d’attente',
    'Access key id': 'ID de la clé d’accès',
    'Secret key': 'Clé secrète',
    Region: 'Région',
    Endpoint: 'Serveur',
    'Google project': 'Projet Google',
    'Service account': 'Compte de service',
    Bucket: 'Bucket',
    Prefix: 'Préfixe',
    Credentials: 'Identifiants',
  },
  hints: {
    'Each as host:port.': 'Chacun sous la forme hôte:port.',
    'For scram.': 'Pour scram.',
    'Default: 5672, with TLS 5671.': 'Par défaut : 5672, avec TLS 5671.',
    'Empty: the default exchange. The routing key is the name of the queue then.':
      'Vide : l’exchange par défaut. La clé de routage est alors le nom de la file.',
    'Empty: the event type.': 'Vide : le type d’événement.',
    'Another server with the same protocol, as an http or https URL.':
      'Un autre serveur avec le même protocole, sous forme d’URL http ou https.',
    'The key file: base64, or an array of byte values.': 'Le fichier de clé : base64 ou une liste d’octets.',
    'The names of all objects begin with it, such as events/.':
      'Les noms de tous les objets commencent ainsi, par exemple events/.',
    'workload: those of the machine that Posthorn runs on, if its operator allows it, instead of a key.':
      'workload : ceux de la machine où Posthorn s’exécute, au lieu d’une clé, si l’opérateur le permet.',
  },
};
