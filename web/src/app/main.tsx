import '@fontsource-variable/inter';
import './styles.css';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { whenBack } from '../data/service/service.ts';
import { ClashProvider } from '../parts/forms/clashes.tsx';
import { ToastProvider } from '../ui/controls/toast.tsx';
import { SiteNameContext } from '../ui/page/page-title.ts';
import { applyTheme, storedTheme } from '../ui/page/theme.ts';
import { GoContext } from '../ui/text/link.tsx';
import { router } from './router.tsx';

applyTheme(storedTheme());
// The client of the API retries by itself.
const queries = new QueryClient({
  defaultOptions: { queries: { retry: false, staleTime: 1000 }, mutations: { retry: false } },
});

whenBack(() => void queries.invalidateQueries());

const go = (href: string): void => router.history.push(href);

const root = document.querySelector('#root');
if (root !== null)
  createRoot(root).render(
    <StrictMode>
      <QueryClientProvider client={queries}>
        <GoContext.Provider value={go}>
          <SiteNameContext.Provider value="Posthorn">
            <ToastProvider>
              <ClashProvider>
                <RouterProvider router={router} />
              </ClashProvider>
            </ToastProvider>
          </SiteNameContext.Provider>
        </GoContext.Provider>
      </QueryClientProvider>
    </StrictMode>,
  );
