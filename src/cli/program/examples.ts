import type { Command } from 'commander'

const EXAMPLES: Readonly<Record<string, readonly string[]>> = {
  run: ['', '--for 60s --log-level debug', '--config config/live.yaml --json 2>> tranched.log'],
  halt: ['', '--config config/live.yaml', '--state-dir data'],
  pause: ['weekly-eth', ''],
  resume: ['weekly-eth', ''],
  approve: ['', 'buy-the-dip'],
  trigger: ['weekly-eth'],
  sell: ['0.5 WETH --for USDC --at-least 1200', '0.5 WETH --for USDC --strategy weekly-eth'],
  buy: ['0.01 WETH --for USDC --at-most 30'],
  reload: ['--config config/live.yaml'],
  settle: [
    'weekly-eth:1893488400:0',
    'weekly-eth:1893488400:0 --as executed 0x4e3a3754410177e6937ef1f84bba68ea139e8d1a2258c5f85db9f1cd715a1bdd',
    'weekly-eth:1893488400:0 --as executed unknown',
    'weekly-eth:1893488400:0 --as dead',
  ],
  'notify test': ['--config config/live.yaml', '--config config/live.yaml --channel telegram-1'],
  validate: ['', '--config config/live.yaml --no-keys'],
  doctor: ['--config config/live.yaml'],
  ps: ['', '--json'],
  status: ['', '--state-dir data --json'],
  plan: ['', 'weekly-eth --slots 5 --utc'],
  quote: [
    'weekly-eth --config config/live.yaml',
    '--sell USDC --buy WETH --amount 25 --config config/live.yaml',
  ],
  history: ['--limit 10', '--strategy weekly-eth --json'],
  why: ['weekly-eth', 'weekly-eth:1893488400', 'weekly-eth:1893488400 --raw'],
  report: [
    '',
    '--by month --since 2026-01-01 --timezone Europe/Berlin',
    '--by strategy --csv > report.csv',
    '--against-backtest --since 7d',
  ],
  export: ['> trades.csv', '--format koinly --since 2026-01-01 > koinly.csv'],
  backtest: [
    '--from 2025-01-01 --to 2026-01-01 --balance USDC=1000 --prices prices --html report.html',
    'weekly-eth --from 2026-01-01 --balance USDC=1000 --prices journal --model from-journal',
    'weekly-eth --from 2025-01-01 --balance USDC=1000 --market 7 --spread 15 --latency 30s',
    "ladder --from 2025-01-01 --balance USDC=1000 --market 7 --expect 'drawdown<30%' --expect 'skipped<5%'",
    "rebalance-60-40 --from 2024-01-01 --to 2026-01-01 --balance USDC=1000 --market 7 --sweep 'band=1%..10%:1%' --sweep minTrade=5,20 --walk-forward",
  ],
  'backtest fetch': [
    '--from 2025-01-01',
    'WETH/USDC --from 2025-01-01 --to 2025-07-01 --prices prices --json',
  ],
  'backtest replay': ['', 'weekly-eth --json'],
  init: [
    'my-trades',
    'my-trades --kinds dca,threshold --mode dry-run --yes',
    'my-trades --kinds all --force',
  ],
  sandbox: ['--config-out config/sandbox-live.yaml --keep', '--settings sandbox.yaml --for 10m'],
  'wallet new': [
    '--out keys/trader.json',
    '--out keys/trader.json --password-file keys/trader.pass',
  ],
  'wallet import': ['--out keys/trader.json', '--out keys/trader.json --private-key-file old.key'],
  'wallet address': ['--keystore keys/trader.json'],
  'gastank status': ['--config config/live.yaml'],
  'gastank deposit': ['0.05 --yes --config config/live.yaml'],
  'delegation status': ['--config config/live.yaml'],
  'delegation set': ['--config config/live.yaml', '--direct --config config/live.yaml'],
  'delegation clear': ['--config config/live.yaml'],
  'approvals list': ['--config config/live.yaml'],
  'approvals revoke': ['USDC --config config/live.yaml', '--all --yes --config config/live.yaml'],
  'state verify': ['--state-dir data'],
  'state rebuild': ['--config config/live.yaml'],
  'state backup': ['/mnt/backup/tranched.tar --config config/live.yaml'],
  'state restore': ['/mnt/backup/tranched.tar --config config/live.yaml'],
  'state new': ['--config config/live.yaml'],
  'state accept-loss': ['--config config/live.yaml'],
  completion: [
    'bash > ~/.local/share/bash-completion/completions/tranched',
    'zsh > ~/.zfunc/_tranched',
    'fish > ~/.config/fish/completions/tranched.fish',
  ],
}

export function addExamples(root: Command, path: readonly string[] = []): void {
  for (const command of root.commands) {
    const words = [...path, command.name()]
    const name = words.join(' ')
    const examples = EXAMPLES[name]
    if (examples !== undefined)
      command.addHelpText(
        'after',
        ['', 'Examples:', ...examples.map((args) => `  tranched ${name} ${args}`.trimEnd())].join(
          '\n',
        ),
      )
    addExamples(command, words)
  }
}
