/**
 * The arguments of a command. Answers `--help`, and refuses what the command does not take: `takes` says what that is,
 * of one argument. `usage`: its lines, from the name on.
 */
export function argumentsOf(usage, takes = () => false) {
  const args = process.argv.slice(2);
  if (args.some((each) => each === '--help' || each === '-h')) {
    console.log(`Usage: ${usage}`);
    process.exit(0);
  }
  const unknown = args.find((each) => !takes(each));
  if (unknown !== undefined) {
    console.error(`"${unknown}" is nothing that this command takes.\nUsage: ${usage}`);
    process.exit(1);
  }
  return args;
}

export const isCheck = (argument) => argument === '--check';
export const isWord = (argument) => !argument.startsWith('-');
