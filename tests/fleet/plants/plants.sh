#!/usr/bin/env bash
# plants.sh PROGRAM [ROWS]: each planted bug makes the test named for it fail, which passes without it. The rows are those of
# the file ROWS, else those of the fleet.
set -uo pipefail
program=$1 failed=0 all=0
export ASAN_OPTIONS=detect_leaks=0 # A test that fails does not clean up.
check() {
    while read -r id plant test; do
        all=$((all + 1))
        if ! out=$("$program" - "$test" 2>&1) || ! grep -q "OK.*$test" <<< "$out"; then
            echo "FAILS WITHOUT ITS BUG $id $test"
            failed=1
        fi
        if out=$("$program" "$plant" "$test" 2>&1); then
            echo "NOT CAUGHT $id $plant: $test"
            tail -3 <<< "$out"
            failed=1
        else
            echo "caught $id $plant"
        fi
    done
}
if [ $# -gt 1 ]; then check < "$2"; else check << 'ROWS'
B01 fleet.create_overwrites_record test_racing_claimants_never_share_an_epoch
B02 fleet.ambiguous_claim_is_lost test_an_ambiguous_claim_that_lost_is_not_sent_over_the_winner
B03 fleet.rejected_claim_is_ours test_racing_claimants_never_share_an_epoch
B04 fleet.wake_reuses_epoch test_the_first_claim_is_fresh_and_each_wake_takes_a_new_epoch
B05 fleet.takeover_without_expiry test_a_live_owner_keeps_its_cell
B06 fleet.anchor_at_completion test_authority_counts_from_before_the_request
B07 fleet.authority_without_clock test_a_pause_beyond_the_expiry_ends_authority_before_any_timer_runs
B08 fleet.late_renewal_revives test_a_renewal_that_was_applied_after_the_expiry_fences
B09 fleet.renewal_drops_log test_a_publication_is_done_when_it_is_in_the_record
B10 fleet.readback_ignores_log test_a_recovery_that_began_is_never_overwritten
B11 fleet.install_over_open_log test_the_log_of_a_predecessor_is_recovered_first
B12 fleet.fence_not_final test_a_readback_that_shows_somebody_else_fences
B20 fleet.takeover_without_recovery test_a_dead_owner_is_taken_only_once_it_is_finished
B21 recover.followers-unsealed test_a_leader_that_was_taken_for_dead_credits_nothing_more
B27 log.one-is-enough test_a_batch_needs_all_members
B28 log.credit-before-record test_what_followers_prove_is_in_the_bucket_or_at_all_of_them
B29 recover.seal-is-witness test_a_member_is_a_witness_or_none_only_when_that_is_certain
B31 recover.error-is-conclusive test_a_member_is_a_witness_or_none_only_when_that_is_certain
B32 recover.loss-undeclared test_a_loss_of_all_followers_is_declared_by_name
B33 recover.this-epoch-only test_batches_of_all_ensembles_are_history
B35 recover.tail-first test_followers_acknowledge_through_an_outage_and_witness_for_a_lost_disk
B39 log.no-barrier test_what_followers_prove_is_in_the_bucket_or_at_all_of_them
B40 log.truncate-ahead test_followers_acknowledge_through_an_outage_and_witness_for_a_lost_disk
B45 log.restore_superseded_epoch test_random_histories_come_back_as_they_were
B46 ltx.gap_ignored test_a_missing_object_is_an_error_of_its_name
B47 ltx.link_unchecked test_a_missing_object_is_an_error_of_its_name
B54 fleet.release_without_looking test_only_the_owner_releases_and_only_its_epoch
B56 fleet.adopt_unheard test_an_adoption_is_in_the_record_when_it_is_answered
B64 fleet.waker_only_own_cells test_due_cells_of_nobody_alive_are_looked_at_once
B70 fleet.sample_by_own_clock test_a_sample_is_shared_and_judged_at_its_own_time
B71 fleet.sample_overwritten test_a_late_refresh_never_replaces_a_newer_sample
B72 fleet.everybody_donates test_the_node_with_the_most_gives_and_nobody_else
B76 fleet.nonce_forgotten test_a_nonce_is_known_for_as_long_as_its_request_is_valid
B83 log.credit-above-hole test_what_followers_prove_is_in_the_bucket_or_at_all_of_them
B92 fleet.no_log_without_seal test_a_dead_owner_is_taken_only_once_it_is_finished
B105 log.lazy-before-credit test_what_followers_prove_is_in_the_bucket_or_at_all_of_them
B112 fleet.pack_deleted_early test_a_pack_is_read_once_and_goes_when_all_of_it_is_settled
- recover.unfilled test_slots_that_are_lost_come_from_followers_or_are_named
- recover.copies-unread test_copies_that_differ_are_named
- fleet.lease_of_configured_id_deleted test_leases_of_the_dead_end_and_those_of_made_ids_go_after_a_day
- fleet.lease_ended_early test_leases_of_the_dead_end_and_those_of_made_ids_go_after_a_day
- fleet.refusal_forgotten test_who_cannot_take_a_cell_is_not_asked
- fleet.sweep_own_without_lease test_what_a_later_process_of_the_same_id_writes_is_no_leftover
ROWS
fi
echo "$all planted"
exit $failed
