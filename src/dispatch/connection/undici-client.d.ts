/** The class that `undici` exports. Its main file reads 90 modules more, such as fetch, which deliveries do not use. */
declare module 'undici/lib/dispatcher/client.js' {
  export { Client as default } from 'undici';
}
