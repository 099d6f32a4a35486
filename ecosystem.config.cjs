// pm2 start ecosystem.config.cjs
// TRANCHED_CONFIG=/etc/tranched/live.yaml pm2 start ecosystem.config.cjs    another config file
//
// pm2 keeps the environment of the shell that starts it, in plain text, in its dump file: give keys as keystore files
// (`wallets: { trader: { keystore, passwordFile } }`), not as environment variables.
//
// The same file serves a clone, which runs its own build, and a folder that `tranched init` has made, which runs the program that is
// installed: in its own node_modules, else where the shell finds `tranched`.
const { existsSync, realpathSync } = require('node:fs')
const { delimiter, join } = require('node:path')

const isClone = existsSync(join(__dirname, 'src/cli/main.ts'))

function program() {
  const own = join(__dirname, 'dist/tranched.js')
  const installed = [
    join(__dirname, 'node_modules/tranched/dist/tranched.js'),
    ...(process.env.PATH || '').split(delimiter).map((folder) => join(folder, 'tranched')),
  ]
  const found = (isClone ? [own] : installed).find((file) => existsSync(file))
  if (found === undefined)
    throw new Error(
      isClone ? `there is no ${own}: run \`npm run build\`` : 'no `tranched` on the PATH: install it, as docs/deployment.md says',
    )
  // The path of the program itself: it stays the same from version to version, and in what `pm2 save` keeps.
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
      // The program keeps SIGUSR1 from opening Node's debugger; where Node has a flag for that, it holds from the first instant.
      node_args: process.allowedNodeEnvironmentFlags.has('--disable-sigusr1') ? ['--disable-sigusr1'] : [],

      // One process: a second one would be refused by the lock. Cluster mode runs two at once during a reload.
      exec_mode: 'fork',
      instances: 1,

      // The daemon says when its state is loaded and its services answer.
      wait_ready: true,
      listen_timeout: 60_000,

      // A stop lets open orders end, which takes up to 30 s; only then may pm2 kill.
      kill_timeout: 40_000,
      // The signal is for the daemon alone: it ends its own children once the orders are through.
      treekill: false,

      // Crashes are restarted after 1 s, then 1.5 s, up to 15 s. Not restarted: 75 another daemon holds the state
      // directory, 78 the config must be mended first (pm2 goes on to list the app as "waiting restart"). Code 0 must
      // not stand here: pm2 takes a daemon that the kernel killed, for want of memory say, for one that ended with 0.
      exp_backoff_restart_delay: 1_000,
      stop_exit_codes: [75, 78],

      // The daemon writes times itself.
      time: false,
      merge_logs: true,
    },
  ],
}
