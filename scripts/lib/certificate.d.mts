/** A key, and a certificate for this machine that it has signed itself: as PEM, for servers that tests and benches start. */
export declare function certificate(): { readonly key: string; readonly cert: string };
