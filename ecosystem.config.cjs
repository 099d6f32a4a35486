// pm2 start ecosystem.config.cjs
// TRANCHED_CONFIG=/etc/tranched/live.yaml pm2 start ecosystem.config.cjs    another config file
//
// pm2 writes the environment of its shell, in plain text, to its dump file. Use keystore files for keys
// (`wallets: { trader: { keystore, passwordFile } }`), not environment variables.
//
// This file serves a clone, which runs its own build, and a folder made by `tranched init`, which runs the installed program:
// from its node_modules, else from the PATH, else the program that made it.
const { existsSync, realpathSync } = require('node:fs')
const { delimiter, join } = require('node:path')

/** The program that made this folder: `tranched init` writes its path here. */
const madeBy = undefined

const isClone = existsSync(join(__dirname, 'src/cli/main.ts'))

function program() {
  const own = join(__dirname, 'dist/tranched.js')
  const installed = [
    join(__dirname, 'node_modules/tranched/dist/tranched.js'),
    ...(process.env.PATH || '').split(delimiter).map((folder) => join(folder, 'tranched')),
    ...(madeBy === undefined ? [] : [madeBy]),
  ]
  const found = (isClone ? [own] : installed).find((file) => existsSync(file))
  if (found === undefined)
    throw new Error(
      isClone ? `there is no ${own}: run \`npm run build\`` : `no \`tranched\` in node_modules, on the PATH or at ${madeBy}: install it, as docs/deployment.md says`,
    )
  // The resolved path stays the same across versions, and in the list of `pm2 save`.
  return realpathSync(found)
}

module.exports = {
  apps: [
    {
      name: 'tranched',
      script: program(),
      args: ['run', '--config', process.env.TRANCHED_CONFIG || 'config/live.yaml'],
      cwd: __dirname,
      interpreter: process.execPath,
      // The program blocks Node's debugger signal SIGUSR1; with this flag, where Node has it, from the first instant.
      node_args: process.allowedNodeEnvironmentFlags.has('--disable-sigusr1') ? ['--disable-sigusr1'] : [],

      // Returns freed memory to the system. By default glibc keeps up to twice the largest block that was freed, 12 MiB after a
      // start.
      env: { MALLOC_TRIM_THRESHOLD_: '131072' },

      // One process: the lock refuses a second one, and cluster mode runs two during a reload.
      exec_mode: 'fork',
      instances: 1,

      // The daemon signals ready once its state is loaded and its services answer.
      wait_ready: true,
      listen_timeout: 60_000,

      // A stop waits up to 30 s for open orders; pm2 must not kill before.
      kill_timeout: 40_000,
      // Signals only the daemon, which stops its children after its orders.
      treekill: false,

      // Crashes are restarted after 1 s, then 1.5 s, up to 15 s. Not restarted: 75 (another daemon holds the state
      // directory) and 78 (the config must be fixed first; pm2 lists the app as "waiting restart"). Never add 0:
      // pm2 reports 0 for a daemon that the kernel killed, for example when memory ran out.
      exp_backoff_restart_delay: 1_000,
      stop_exit_codes: [75, 78],

      // The daemon's log has its own times.
      time: false,
      merge_logs: true,
    },
  ],
}
