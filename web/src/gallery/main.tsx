import '@fontsource-variable/inter';
import '../app/styles.css';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { ToastProvider } from '../ui/controls/toast.tsx';
import { GoContext } from '../ui/text/link.tsx';
import { Gallery } from './gallery.tsx';

const root = document.querySelector('#root');
if (root !== null)
  createRoot(root).render(
    <StrictMode>
      {/* Links lead nowhere here. */}
      <GoContext.Provider value={() => undefined}>
        <ToastProvider>
          <Gallery />
        </ToastProvider>
      </GoContext.Provider>
    </StrictMode>,
  );
