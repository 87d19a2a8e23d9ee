export function refusedStatements(instances: readonly { readonly name: string; readonly log: string }[]): string[];
