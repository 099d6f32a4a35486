import { configSteps, type Steps, sandboxSteps } from './next.ts'

const PROGRAM = 'tranched'

const HEADING = `# A folder for tranched

Where the program is not on the \`PATH\`, \`tranched\` stands for \`npx tranched\`, or for \`node\` and the path of its
\`dist/tranched.js\`.`

const MORE = `## More

\`tranched plan\` shows what each strategy would do now, \`tranched run\` starts the daemon, \`tranched --help\` lists all commands;
each takes \`--config FILE\`. \`tranched init\` adds other kinds and another config to this folder, and keeps what is here.
The documents of the package tell the rest: \`docs/strategies.md\` every field, \`docs/operate.md\` how to keep it running.`

const BESIDE: Readonly<Record<string, string>> = {
  'config/live.yaml': 'real money. Every strategy of it is `enabled: false` until you turn it on',
  'config/dry-run.yaml': 'real prices and quotes on paper; it signs nothing',
}

/** The folder's own README. `config` is the config beside the sandbox's, with the variables that it takes values from. */
export function folderReadme(
  beside: { readonly config: string; readonly variables: readonly string[] } | undefined,
): string {
  const config = beside?.config
  const parts = [
    HEADING,
    tableOf(config),
    section('The sandbox', sandboxSteps(PROGRAM)),
    ...(beside === undefined ? [] : [section(beside.config, configSteps(PROGRAM, beside))]),
    MORE,
  ]
  return `${parts.join('\n\n')}\n`
}

function section(title: string, { said, lines }: Steps): string {
  return [`## ${title}`, '', ...said, '', ...lines.map((line) => `    ${line}`)].join('\n')
}

function tableOf(config: string | undefined): string {
  const ofConfig: readonly (readonly [path: string, is: string])[] =
    config === undefined
      ? []
      : [
          [config, BESIDE[config] ?? ''],
          ['strategies/', `the strategies of \`${config}\`, one a file`],
        ]
  const rows: readonly (readonly [path: string, is: string])[] = [
    ...ofConfig,
    [
      'config/sandbox.yaml',
      'play money: chains and services on this machine. Commands take it unless told otherwise',
    ],
    ['strategies/sandbox/', 'its strategies; they trade every few seconds'],
    [
      'strategies/modules/',
      'modules that decide for `kind: custom`: an example, `tranched.d.ts` with the types, `jsconfig.json` for editors',
    ],
    ['config/schema/', 'what an editor with a YAML language server checks and completes keys by'],
    ['ecosystem.config.cjs', 'for pm2: `npx pm2 start ecosystem.config.cjs`'],
    [
      'keys/',
      'keystores and passwords. Back them up, and commit none: `.gitignore` keeps them out',
    ],
    ['data/', 'the state of each daemon, made by its first run'],
  ]
  return [
    '| path | is |',
    '|---|---|',
    ...rows.map(([path, is]) => `| \`${path}\` | ${is} |`),
  ].join('\n')
}
