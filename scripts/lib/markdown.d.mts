export interface CodeBlock {
  readonly line: number;
  readonly language: string;
  readonly file: string | undefined;
  readonly text: string;
}
export function documents(): string[];
export function codeBlocks(markdown: string): CodeBlock[];
export function fileLinks(markdown: string): { line: number; target: string; anchor: string | undefined }[];
export function anchors(markdown: string): string[];
