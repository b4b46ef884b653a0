import { join } from 'node:path';
import tailwind from '@tailwindcss/vite';
import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

const dirname = import.meta.dirname;

export default defineConfig({
  root: dirname,
  plugins: [react(), tailwind()],
  resolve: { alias: { 'posthorn-client': join(dirname, '../client/src/posthorn.ts') } },
  build: {
    target: ['chrome123', 'firefox120', 'safari17.5'],
    // The policy of the server allows no inline data.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    rolldownOptions: {
      output: {
        // Pages of others name it in their HTML.
        entryFileNames: ({ name }) => (name === 'embed' ? 'portal/embed.js' : 'assets/[name]-[hash].js'),
      },
    },
  },
  // `npm run dev -w web` beside a running server.
  server: {
    proxy: Object.fromEntries(
      ['/api', '/auth', '/portal-api'].map((path) => [path, 'http://127.0.0.1:5005']),
    ),
  },
});
