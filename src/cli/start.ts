#!/usr/bin/env node
// Runs before any other module loads. Without a listener, SIGUSR1 makes Node open its debugger on loopback, where every user
// of the machine can read the heap, and a key in it.
process.on('SIGUSR1', () => undefined)
void import('./load-program.ts').then(({ loadProgram }) => {
  const [, , command] = process.argv
  const program = loadProgram('program', { keeps: command === 'run' })
  return program['main']?.()
})
