/**
 * What a reader does beside the commands of a page: `begins` types a command that lasts and waits for what it shows; `until`
 * repeats a command until it shows something; `interrupt` presses Ctrl-C in the terminal that began last.
 */
export type Step =
  | string
  | { readonly begins: string; readonly shows: RegExp }
  | { readonly repeats: string; readonly until: RegExp }
  | 'interrupt'

/** How a command is typed that does not simply end with exit code 0 as the page shows it. */
export type Note = {
  /** The reader has done this before. */
  readonly first?: readonly Step[]
  /** Stand-ins: what is typed for the parts that the page leaves to the reader, or that would take long. */
  readonly as?: Readonly<Record<string, string>>
  /** Exit code, 0 unless the page says otherwise. */
  readonly code?: number
  /** Its output. */
  readonly shows?: RegExp
  /** It lasts: its output once it is up. */
  readonly lasts?: RegExp
  /** It is repeated until its output is this. */
  readonly until?: RegExp
  /** Typed on a terminal, because it asks. */
  readonly answer?: string
}

/** Why a command cannot be typed here, by how it begins. */
export const NOT_TYPED: Readonly<Record<string, string>> = {
  'npm test': 'runs the tests of which this is one; .ci/run runs them',
  'npx biome check': 'formats the tests of which this is one; .ci/run checks the format',
  'npx vitest run test/golden': 'runs tests as .ci/run does',
  'npm run check': 'takes minutes; .ci/run runs it',
  'npm install --global':
    'needs the package registry; test/stack/package.test.ts installs the package',
  'npx pm2 startup': 'needs an init system, whose boot it would change',
  'sudo ': "needs root's rights over this machine; test/stack/systemd.test.ts checks the unit",
  'journalctl ': 'needs systemd',
  'docker ': 'needs Docker; test/stack/container.test.ts builds and runs the image',
  'alias in-bot=': 'stands for Docker',
  'in-bot ': 'stands for Docker; test/stack/container.test.ts types them in the image',
  'ssh ': 'needs another machine',
}

/** Words in capitals that are no placeholders. */
export const NO_PLACEHOLDERS = /^(USDC|WETH|ETH|DAI|PUT|PWD|TRANCHED_CONFIG|TRANCHED_COMMIT)$/

/** A halt before it has bought would leave pages without what they show. */
const FILLS = { repeats: 'tranched status', until: /buy-weth .*filled/ } as const
const START = { begins: 'npm start', shows: /"event":"starting"/ } as const
/** The daemon of the README, on play money. */
const DAEMON: readonly Step[] = [START, FILLS]
/** Pages that are read beside one daemon, which the first of them starts. */
export const READ_TOGETHER = ['alerts', 'costs', 'json', 'operate', 'state'].map(
  (name) => `docs/${name}.md`,
)

const SANDBOX_UP = /Ctrl-C (ends|stops and keeps) them/
const EXAMPLES = 'cp strategies/weekly-eth.yaml strategies/rebalance-60-40.yaml strategies/sandbox/'
const REHEARSAL = { shows: SANDBOX_UP, begins: 'tranched sandbox --config-out config/live.yaml' }
const ACCOUNT = '0x00000000000000000000000000000000000A11CE'

/** One price at each of these times: `from`, `to` and `step` in seconds. */
const prices = (from: string, to: string, step: number): string =>
  `mkdir prices && node -e '
    console.log("time,price")
    for (let at = Date.parse("${from}"), i = 0; at < Date.parse("${to}"); at += ${step}000, i++)
      console.log(new Date(at).toISOString() + "," + (2500 + 500 * Math.sin(i * ${step} / 4e6)))' > prices/WETH-USDC.csv`

/** Writes the addresses of the sandbox's chain into the config that `init` wrote for Base, and confirms blocks as fast. */
const ADDRESSES = `node --input-type=module -e '
    import { readFileSync, writeFileSync } from "node:fs"
    import { parse } from "yaml"
    let text = readFileSync("config/live.yaml", "utf8")
    const [base, own] = [text, readFileSync("../sandbox/live.yaml", "utf8")].map((each) => parse(each))
    const put = (from, to) => { if (from !== undefined) text = text.replaceAll(from, to) }
    for (const name in base.tokens) put(base.tokens[name].address, own.tokens[name].address)
    for (const name in base.prices)
      for (const key of ["feed", "sequencerFeed"]) put(base.prices[name][key], own.prices[name][key])
    put("finality: 32", "finality: 1")
    writeFileSync("config/live.yaml", text)'`

const fund = (token: string, amount: string): string =>
  `curl -sf 127.0.0.1:8081/fund -H 'content-type: application/json' -d '{"address": "'$(jq -r .address keys/trader.json | sed 's/^\\(0x\\)*/0x/')'", "token": "${token}", "amount": "${amount}"}'`

const NOTIFIED = `node -e 'require("http").createServer((q, r) => q.resume().on("end", () => r.end())).listen(8099, "127.0.0.1", () => console.log("listening"))'`

/** By page, then by how a command begins; of several commands that begin so, by the longest such beginning. */
export const NOTES: Readonly<Record<string, Readonly<Record<string, Note>>>> = {
  'README.md': {
    'npm start': { lasts: /"event":"filled"/ },
    'curl -s 127.0.0.1:9464/metrics': {
      until: /tranched_fills_total\{strategy="buy-weth".*\} [1-9]/,
    },
    'node dist/tranched.js status': { shows: /buy-weth .*filled/ },
    'node dist/tranched.js report': { shows: /WETH/ },
    'tranched init': { first: ['interrupt'], shows: /wrote {2}config\/sandbox\.yaml/ },
    'tranched status': {
      first: [
        'tranched validate',
        'TRANCHED_CONFIG=config/sandbox.yaml npx pm2 start ecosystem.config.cjs',
        FILLS,
      ],
      shows: /buy-weth/,
    },
    'tranched why': { as: { NAME: 'buy-weth' }, shows: /buy-weth, slot of/ },
    'tranched halt': { shows: /halted everything in .*my-bot/ },
    'tranched resume': { shows: /resumed everything/ },
  },
  'docs/alerts.md': {
    'tranched halt ': { first: DAEMON, shows: /halted everything/ },
    'tranched halt --state-dir': { as: { ' D ': ' data/sandbox ' }, shows: /data\/sandbox/ },
  },
  'docs/backtest.md': {
    // The page shows its output, which test/unit/cli/backtest/docs.test.ts compares: an expectation fails.
    'tranched backtest weekly': {
      first: ['cp /mnt/shown/1.yaml strategies/sandbox/weekly.yaml'],
      code: 1,
      shows: /FAILS {2}drawdown<40%: it is 50\.5374/,
    },
    'tranched backtest rebalance-60-40': {
      first: [EXAMPLES, prices('2025-10-01T13:30Z', '2026-01-01', 86_400)],
      as: { '2024-01-01': '2025-10-01' },
      shows: /SWEEP {2}20 combinations/,
    },
    'tranched report --against-backtest': {
      first: ['npm start -- --for 10s'],
      shows: /LIVE AGAINST BACKTEST/,
    },
  },
  'docs/calls.md': {
    'node dist/tranched.js sandbox': { lasts: SANDBOX_UP },
    'node dist/tranched.js run': { as: { '30s': '10s' } },
    'node dist/tranched.js history': { shows: /call:\d+ +filled/ },
    'node dist/tranched.js gastank status': { shows: /charge/ },
    'tranched gastank deposit': { first: ['export TRANCHED_CONFIG=data/rehearsal/live.yaml'] },
    'tranched delegation set': { shows: /is delegated to/ },
  },
  'docs/costs.md': {
    'tranched plan --costs': { shows: /buy-weth/ },
    'tranched report': { shows: /service fees/ },
  },
  'docs/deployment.md': {
    'tranched --version': { shows: /^tranched \d/ },
    'npx pm2 start': {
      as: { 'npx pm2 start': 'TRANCHED_CONFIG=config/sandbox.yaml npx pm2 start' },
      shows: /tranched .* online/,
    },
    'npx pm2 save': { shows: /Successfully saved/ },
  },
  'docs/doctor.md': {
    'tranched doctor --config config/live.yaml  ': {
      first: [
        REHEARSAL,
        'tranched gastank deposit 0.05 --yes --config config/live.yaml',
        'tranched delegation set --config config/live.yaml',
      ],
      shows: / 0 faults/,
    },
    'tranched doctor --config config/live.yaml --json': { shows: /"ok": ?true/ },
  },
  'docs/faq.md': {
    'curl -X PUT ADMIN_URL': {
      first: [
        {
          begins: 'tranched sandbox --config-out config/local.yaml --keep --admin-port 8081',
          shows: SANDBOX_UP,
        },
      ],
      as: { ADMIN_URL: '127.0.0.1:8081' },
      shows: /^\{\}|"WETH"/m,
    },
  },
  'docs/first-strategy.md': {
    'npm start': { lasts: /"event":"starting"/ },
    'node dist/tranched.js validate': {
      first: ['cp /mnt/shown/1.yaml strategies/sandbox/my-first.yaml'],
      shows: /ok \(mode sandbox, 10 strategies/,
    },
    'node dist/tranched.js plan': { shows: /my-first: dca 0\.1 USDC -> AERO/ },
    'node dist/tranched.js history': { until: /my-first:\d+ +filled/ },
    'node dist/tranched.js why': { shows: /my-first, slot of/ },
    'node dist/tranched.js pause': { shows: /paused/ },
  },
  'docs/json.md': {
    'tranched report': { until: /USDC -> .* WETH/ },
  },
  'docs/live.md': {
    'tranched init my-bot --kinds dca --mode live --yes': {
      first: [
        'cd .. && mv my-bot asked',
        {
          begins:
            'tranched sandbox --config-out sandbox/live.yaml --rpc-port 8545 --gasless-port 8080 --admin-port 8081',
          shows: SANDBOX_UP,
        },
        `SPENDER=$(sed -n '/spenders:/{n;s/.*"\\(0x.*\\)"/\\1/p}' sandbox/live.yaml)`,
      ],
      // The sandbox has no cbBTC.
      as: {
        '--rpc https://...': '--rpc http://127.0.0.1:8545',
        '--service https://...': '--service http://127.0.0.1:8080',
        '0x...': '$SPENDER',
        cbBTC: 'DAI',
      },
      shows: /fine: the gasless service answers/,
    },
    '(umask': { first: ['cd my-bot', ADDRESSES] },
    'tranched validate': {
      first: [fund('ETH', '2000000000000000'), fund('USDC', '20000000')],
      shows: /ok \(mode live/,
    },
    'tranched doctor': { shows: / 0 faults/ },
    'tranched quote': { shows: /would be signed/ },
    'tranched run --config config/dry-run.yaml': {
      first: [
        `sed 's/^mode: live/mode: dry-run/; s/^stateDir: .*/stateDir: ..\\/data\\/dry-run/' config/live.yaml > config/dry-run.yaml`,
      ],
      lasts: /"event":"starting"/,
    },
    'tranched report --config config/dry-run.yaml': {
      first: [{ repeats: 'tranched status --config config/dry-run.yaml', until: /running for/ }],
    },
    'tranched run --config config/live.yaml': {
      first: ['interrupt'],
      lasts: /"event":"starting"/,
    },
    'tranched buy': {
      first: [{ repeats: 'tranched status --config config/live.yaml', until: /running for/ }],
      answer: 'yes',
      shows: /filled/,
    },
    'tranched why manual': { shows: /manual, slot of/ },
    'tranched report --config config/live.yaml': { shows: /WETH/ },
    'npx pm2 start': { first: ['interrupt'], shows: /tranched .* online/ },
  },
  'docs/monitoring.md': {
    'tranched ps': { first: DAEMON, shows: /sandbox/ },
    'tranched why': { as: { NAME: 'buy-weth' }, shows: /buy-weth, slot of/ },
    'tranched doctor': { shows: / 0 faults/ },
    'npm start': { first: ['interrupt'] },
    'node dist/tranched.js sandbox': { lasts: SANDBOX_UP },
    'TRANCHED_CONFIG=data/rehearsal/live.yaml npx pm2 start': { shows: /tranched .* online/ },
    prometheus: { lasts: /Server is ready/ },
    'curl -s 127.0.0.1:9090/api/v1/query': {
      until:
        /(?=.*"venue":"gasless"},"value":\[[\d.]+,"[1-9])(?=.*"venue":"aggregated"},"value":\[[\d.]+,"[1-9])/,
    },
    'curl -s 127.0.0.1:9090/api/v1/alerts': { shows: /"status":"success"/ },
    'npx pm2 logs': { shows: /filled/ },
  },
  'docs/notifications.md': {
    'tranched notify test  ': {
      first: [
        { begins: NOTIFIED, shows: /listening/ },
        `printf 'notify: { webhooks: [{ url: "http://127.0.0.1:8099/" }] }\\n' >> config/sandbox.yaml`,
      ],
      shows: /webhook-1/,
    },
    'tranched notify test --channel': { as: { 'telegram-1': 'webhook-1' }, shows: /webhook-1/ },
    'node -p': { shows: /^whsec_.{44}$/m },
  },
  'docs/operate.md': {
    // Within the caps of config/sandbox.yaml, and from a strategy of the sandbox that has bought something.
    'tranched sell 0.5 WETH --for USDC --at-least': {
      first: ['tranched resume'],
      as: { '0.5': '0.05', '1200': '120' },
      answer: 'yes',
      shows: /filled/,
    },
    'tranched buy': { as: { 'at-most 30': 'at-most 35' }, answer: 'yes', shows: /filled/ },
    'tranched sell 0.5 WETH --for USDC --strategy': {
      as: { '0.5': '0.005', 'weekly-eth': 'buy-weth' },
      answer: 'yes',
      shows: /filled/,
    },
  },
  'docs/recovery.md': {
    // A service that does not settle an order.
    'tranched halt': {
      first: [
        'mkdir -p alone && cp strategies/sandbox/buy-weth.yaml alone/',
        {
          begins:
            'tranched sandbox --config-out config/local.yaml --strategies-dir alone --admin-port 8081 --quote-lifetime 20s',
          shows: SANDBOX_UP,
        },
        'export TRANCHED_CONFIG=config/local.yaml',
        { begins: 'tranched run', shows: /"event":"filled"/ },
        `curl -sf -X PUT 127.0.0.1:8081/faults -H 'content-type: application/json' -d '{"seed": 1, "rules": [{"kind": "neverFill"}]}'`,
        { repeats: 'tranched status', until: /buy-weth:\d+:0: (?!planned)/ },
      ],
      shows: /halted everything/,
    },
    'tranched ps': { shows: /HALTED/ },
    'tranched status  ': { shows: /halt/i },
    'tranched status                                            #': { shows: /orders? open/ },
    'tranched doctor': { shows: /everything is halted/ },
    'tranched state verify': { shows: /sound/ },
    'tranched settle weekly-eth:1893488400:0  ': {
      first: [
        `INTENT=$(tranched status | sed -n '/planned/d;s/^ *\\(buy-weth:[0-9]*:0\\): .*/\\1/p' | head -n 1)`,
      ],
      as: { 'weekly-eth:1893488400:0': '$INTENT' },
      shows: /dead/,
    },
    'tranched settle weekly-eth:1893488400:0 --as': {
      as: { 'weekly-eth:1893488400:0': '$INTENT', TX: `0x${'1'.repeat(64)}` },
      code: 1,
    },
    'tranched approvals list': { shows: /USDC/ },
    'tranched approvals revoke': {
      first: [{ repeats: 'tranched status', until: /0 orders open/ }, 'interrupt'],
      answer: 'yes',
    },
  },
  'docs/sandbox-services.md': {
    'tranched sandbox': { lasts: SANDBOX_UP },
    'curl -H': { as: { '0xYOURS': ACCOUNT }, shows: /^\{\}/m },
  },
  'docs/sandbox.md': {
    'tranched sandbox --settings': {
      first: ['cp /mnt/shown/1.yaml sandbox.yaml'],
      lasts: SANDBOX_UP,
    },
    'tranched sandbox --quote-lifetime': { first: ['interrupt'], lasts: SANDBOX_UP },
    'tranched sandbox --config-out data/rehearsal/live.yaml --keep': {
      first: ['interrupt'],
      lasts: SANDBOX_UP,
    },
  },
  'docs/state.md': {
    'tranched state backup': { shows: /backup {2,}\/mnt\/nas\/monday\.tar/ },
    'tranched state verify': { shows: /sound/ },
    'tranched state rebuild': { first: ['interrupt'], shows: /was rebuilt from/ },
    // It lists what the backup lacks, and restores nothing without --replace.
    'tranched state restore': { code: 1, shows: /the backup lacks records/ },
  },
  'docs/strategies.md': {
    'tranched backtest': {
      first: [EXAMPLES, prices('2024-12-31T23:00Z', '2026-01-01', 3_600)],
      shows: /holds {2}beats>-10%/,
    },
  },
}
