/** With `CADRE_TEST_PATIENCE=4` tests of workflows wait four times as long, for a machine that is busy with other work. */
export const PATIENCE = Number(process.env.CADRE_TEST_PATIENCE ?? 1);
