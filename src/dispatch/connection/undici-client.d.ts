/** undici has types for its main file only. */
declare module 'undici/lib/dispatcher/client.js' {
  import type { Client } from 'undici';

  const client: typeof Client;
  type client = Client;
  export default client;
}
