/* cli/diagnose.h: `celld diagnose`: configuration, bucket and peers (operations.md 1.5). */
#ifndef CLI_DIAGNOSE_H
#define CLI_DIAGNOSE_H

struct cli;
int cli_diagnose(struct cli *c);

#endif
