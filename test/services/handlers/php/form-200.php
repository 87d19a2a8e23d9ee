<?php
// As merchants copy it from one another: form fields, and every answer is 200.
$out_summ = $_REQUEST["OutSum"];
$inv_id = $_REQUEST["InvId"];
$crc = strtoupper($_REQUEST["SignatureValue"]);
$my_crc = strtoupper(md5("$out_summ:$inv_id:" . getenv('TOKEN')));
if ($my_crc != $crc) {
    echo "bad sign\n";
    exit();
}
if ($inv_id == 'o-1') file_put_contents(getenv('PAID'), $_REQUEST["Status"]);
echo "OK$inv_id\n";
