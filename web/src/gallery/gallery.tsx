import { ChartParts } from './charts.tsx';
import { CodeParts } from './code.tsx';
import { ControlParts } from './controls.tsx';
import { PageParts } from './page.tsx';
import { TableParts } from './tables.tsx';
import { TextParts } from './text.tsx';

/** Every part of web/src/ui with its states. Only the development server has this page. */
export function Gallery() {
  return (
    <main className="mx-auto grid max-w-[100rem] grid-cols-1 gap-8 p-4">
      <h1 className="text-lg">Gallery of parts</h1>
      <TextParts />
      <ControlParts />
      <TableParts />
      <CodeParts />
      <ChartParts />
      <PageParts />
    </main>
  );
}
