export function checkImports(base: string): string[];
