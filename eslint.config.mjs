import tseslint from 'typescript-eslint';

export default tseslint.config(
  // What BullMQ brings along is installed for its example alone, where `npm run test:hosts` compiles it.
  { ignores: ['**/dist/', '**/node_modules/', '.data/', 'coverage/', 'examples/bullmq-handover/', 'examples/prisma/'] },
  {
    files: ['**/*.ts'],
    extends: [tseslint.configs.strictTypeChecked],
    languageOptions: { parserOptions: { project: './tsconfig.json', tsconfigRootDir: import.meta.dirname } },
    rules: {
      // A Nest module is a class with a decorator and often nothing in it.
      '@typescript-eslint/no-extraneous-class': ['error', { allowWithDecorator: true }],
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true }],
      '@typescript-eslint/no-confusing-void-expression': 'off',
      '@typescript-eslint/switch-exhaustiveness-check': 'error',
      // Options and inputs are given as literals, also where Nest declares them as classes.
      '@typescript-eslint/no-unsafe-class-instance-assignment': 'off',
    },
  },
  {
    files: ['**/*.spec.ts', 'test/**/*.ts'],
    rules: {
      // A method passed to `expect` is looked at, not called.
      '@typescript-eslint/unbound-method': 'off',
      // A test says what it knows to be there.
      '@typescript-eslint/no-non-null-assertion': 'off',
    },
  },
  {
    files: ['**/*.spec.ts'],
    rules: {
      'no-restricted-syntax': [
        'error',
        {
          selector: 'Program > ExpressionStatement > CallExpression[callee.name=/^(before|after)(All|Each)$/]',
          message:
            'Many files of tests are loaded as one: outside of a describe this would run for those of all of them.',
        },
      ],
    },
  },
  {
    files: ['**/*.mjs'],
    extends: [tseslint.configs.strict],
    languageOptions: {
      globals: Object.fromEntries(
        ['process', 'console', 'fetch', 'URL', 'URLSearchParams', 'AbortSignal', 'performance', 'Buffer']
          .concat(['AbortController', 'setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'])
          .map((name) => [name, 'readonly']),
      ),
    },
    rules: { 'no-undef': 'error' },
  },
  {
    files: ['**/*.{ts,mjs}'],
    rules: {
      eqeqeq: 'error',
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_' }],
    },
  },
);
