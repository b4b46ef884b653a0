import '@fontsource-variable/inter';
import '../app/styles.css';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { ToastProvider } from '../ui/controls/toast.tsx';
import { GoContext } from '../ui/text/link.tsx';
import { ChartParts } from './charts.tsx';
import { CodeParts } from './code.tsx';
import { ControlParts } from './controls.tsx';
import { PageParts } from './page.tsx';
import { TableParts } from './tables.tsx';
import { TextParts } from './text.tsx';

// Every part of web/src/ui with its states. Only the development server has this page, and its links lead nowhere.
const root = document.querySelector('#root');
if (root !== null)
  createRoot(root).render(
    <StrictMode>
      <GoContext.Provider value={() => undefined}>
        <ToastProvider>
          <main className="mx-auto grid max-w-[100rem] grid-cols-1 gap-8 p-4">
            <h1 className="text-lg">Gallery of parts</h1>
            <TextParts />
            <ControlParts />
            <TableParts />
            <CodeParts />
            <ChartParts />
            <PageParts />
          </main>
        </ToastProvider>
      </GoContext.Provider>
    </StrictMode>,
  );
